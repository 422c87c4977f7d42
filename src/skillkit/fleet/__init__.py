"""Scripts of skills on many machines: a ScriptRunner over HTTPS, a gateway, and workers on Ray."""

PORT = 8713
"""Of a gateway, if none is given."""
