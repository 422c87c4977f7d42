"""SKILL.md → three tiers. Framework-free; depends on PyYAML alone."""

import logging

# A library is silent until the program that uses it says where its log goes.
logging.getLogger("skillkit").addHandler(logging.NullHandler())
