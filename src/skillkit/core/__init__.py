"""SKILL.md → three tiers. Framework-free; depends on PyYAML alone."""
