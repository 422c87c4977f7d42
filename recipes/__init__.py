"""What makes the documentation out of the program: its site, its pictures, the list of its commands."""
