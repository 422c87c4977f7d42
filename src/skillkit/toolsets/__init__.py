"""Python classes of a skill whose methods are tools."""
