"""Measurements: each module or package here is run by `python3 dev.py bench NAME`."""
