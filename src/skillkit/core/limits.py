"""Limits on input from outside, in one table; limits of a script's run are in `core.grants`."""

KIB = 1 << 10
MIB = 1 << 20

# One skill

SKILL_FILES = 512
"""Files of a skill that is installed or published, unless the user says more."""
SKILL_BYTES = 16 * MIB
TREE_FILES = 4096
"""Files of a tree that is checked in place: a project's folder, a local skill under development."""
TREE_BYTES = 256 * MIB
TREE_ENTRIES = 10_000
"""Files and folders of a tree together, so that folders alone are limited too."""
TREE_DEPTH = 32

# Files of our own

LOCK_SECONDS = 120.0
"""Timeout for a lock that a program holds only while it writes."""

# Paths and names

PATH_CHARACTERS = 4096
"""Of a path that a model, a client or a document names."""

# What comes over the network

DOWNLOAD_BYTES = 50 * MIB
REDIRECTS = 5
INDEX_BYTES = 4 * MIB
INDEX_SKILLS = 5000
ARCHIVE_FILES = 10_000
ARCHIVE_BYTES = 64 * MIB
"""Of all members together, unpacked; headers count."""

# Documents of others

JSON_BYTES = 64 * MIB
JSON_DEPTH = 100
"""Whatever encodes or walks the value afterwards must not run out of stack."""

# Test cases

CASE_FILES = 2000
"""Files and folders that a case brings."""
CASE_BYTES = 64 * MIB
CASE_DOCUMENTS = 20_000
"""Files beneath a folder that are searched for cases."""
