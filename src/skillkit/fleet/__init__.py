"""Scripts of skills on many machines: a ScriptRunner over Ray, with its workers and dispatchers."""
