"""Run scripts of skills on many machines: a ScriptRunner over HTTPS, a gateway, and workers on Ray."""

PORT = 8713
"""The default port of a gateway."""
