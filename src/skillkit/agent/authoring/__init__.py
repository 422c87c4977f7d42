"""Help for authors: templates to start from, and what is wrong with a file before others find out."""
