"""The `agent` program."""
