"""The pages: one file for each noun, each a function from what was asked to HTML."""
