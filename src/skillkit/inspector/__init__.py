"""A local web page that shows what skills are there, what they cost, what they did and why."""
