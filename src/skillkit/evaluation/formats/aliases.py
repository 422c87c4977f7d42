"""The table of field name spellings, stored beside this file."""

import re
import tomllib
from importlib.resources import files

from skillkit.evaluation.cases import CheckKind

_TABLE = tomllib.loads(files("skillkit.evaluation.formats").joinpath("aliases.toml").read_text("utf-8"))
LISTS: dict[str, list[str]] = _TABLE["lists"]
FIELDS: dict[str, list[str]] = _TABLE["fields"]
WORDS: dict[str, list[str]] = _TABLE["words"]
CHECKS = {word: CheckKind(kind) for kind, words in _TABLE["checks"].items() for word in words}


def field_name(key: object) -> str:
    """Return a key in its canonical form: `shouldTrigger` and `should-trigger` are `should_trigger`."""
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", str(key)).lower().replace("-", "_")
