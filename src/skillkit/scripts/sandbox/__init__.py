"""Backends that hold a script: one file each, chosen by a self-test."""
