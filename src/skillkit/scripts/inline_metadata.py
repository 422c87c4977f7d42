"""The PEP 723 block of a Python script, found line by line because the reference regex is quadratic."""

import re
import tomllib
from dataclasses import dataclass
from typing import cast

MAX_SCRIPT_SIZE = 8 << 20
MAX_DEPENDENCIES = 200
MAX_BLOCK = 32 << 10
MAX_LINE = 2000
"""A key of many parts costs the TOML parser the square of their number."""
_MAX_REQUIREMENT = 500
_MAX_REQUIRES_PYTHON = 200
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_VERSION = r"(?:===?|~=|!=|<=?|>=?)\s*[A-Za-z0-9._*+!-]+"
_REQUIREMENT = re.compile(
    rf"(?P<name>{_NAME})\s*(?:\[[A-Za-z0-9._,\s-]*\])?\s*"
    rf"(?:\(?\s*{_VERSION}(?:\s*,\s*{_VERSION})*\s*,?\s*\)?)?\s*(?:;[^\r\n]*)?"
)
_DIRECT = re.compile(rf"{_NAME}\s*(?:\[[^\]]*\])?\s*@")
_SPACES = re.compile(" +")
_FOREIGN_SETTINGS = ("sources", "index", "index-url", "extra-index-url", "find-links", "no-index")


class InlineMetadataError(ValueError):
    """The block is invalid; the message says why."""


@dataclass(frozen=True, slots=True)
class InlineMetadata:
    """Requirements of a script."""

    dependencies: tuple[str, ...] = ()
    requires_python: str = ""
    exclude_newer: str = ""
    other_sources: tuple[str, ...] = ()
    """Sources other than the user's own index, as the script names them."""

    @classmethod
    def of(cls, requirements: list[str], exclude_newer: str = "") -> "InlineMetadata":
        """Parse requirements named by hand, under the same rules; InlineMetadataError for an invalid one."""
        dependencies = _texts(requirements, "requirements")
        foreign = tuple(reason for text in dependencies if (reason := _foreign(text)))
        return cls(dependencies, exclude_newer=exclude_newer, other_sources=foreign)


NO_METADATA = InlineMetadata()


def parse_inline_metadata(text: str) -> InlineMetadata:
    """Read the `# /// script` block of `text`; a script without one has no requirements."""
    block = _block(text)
    if block is None:
        return NO_METADATA
    try:
        data = tomllib.loads(block)
    except (ValueError, RecursionError) as error:  # numbers of many digits raise a plain ValueError
        raise InlineMetadataError(f"the '# /// script' block is not valid TOML: {error}") from error
    dependencies = _texts(data.get("dependencies", []), "dependencies")
    if len(dependencies) > MAX_DEPENDENCIES:
        raise InlineMetadataError(f"more than {MAX_DEPENDENCIES} dependencies")
    requires = data.get("requires-python", "")
    if not isinstance(requires, str) or len(requires) > _MAX_REQUIRES_PYTHON:
        raise InlineMetadataError("requires-python is not a short text")
    foreign = [reason for text in dependencies if (reason := _foreign(text))]
    tool = data.get("tool", {})
    settings = tool.get("uv", {}) if isinstance(tool, dict) else {}
    if not isinstance(settings, dict):
        raise InlineMetadataError("[tool.uv] is not a table")
    foreign.extend(f"[tool.uv] {name}" for name in _FOREIGN_SETTINGS if name in settings)
    return InlineMetadata(
        dependencies=dependencies,
        requires_python=requires.strip(),
        exclude_newer=str(settings.get("exclude-newer", "")),
        other_sources=tuple(foreign),
    )


def _block(text: str) -> str | None:
    """The TOML between `# /// script` and the last `# ///` of the comment lines that follow."""
    lines = text.splitlines()
    found: list[str] | None = None
    position = 0
    while position < len(lines):
        if lines[position].rstrip() != "# /// script":
            position += 1
            continue
        start = position + 1
        position = start
        end = None
        while position < len(lines) and _is_comment(lines[position]):
            if lines[position].rstrip() == "# ///":
                end = position
            position += 1
        if end is None:
            continue
        if found is not None:
            raise InlineMetadataError("there are two '# /// script' blocks")
        found = lines[start:end]
    if found is None:
        return None
    if sum(map(len, found)) > MAX_BLOCK or any(len(line) > MAX_LINE for line in found):
        raise InlineMetadataError(
            f"the '# /// script' block has more than {MAX_BLOCK} characters, or a line more than {MAX_LINE}"
        )
    return "\n".join(line[2:] if line.startswith("# ") else line[1:] for line in found)


def _is_comment(line: str) -> bool:
    return line == "#" or line.startswith("# ")


def _texts(value: object, name: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InlineMetadataError(f"{name} is not a list of strings")
    # Collapse spaces: patterns with optional spaces are slow on long runs of them.
    return tuple(_SPACES.sub(" ", item).strip() for item in cast("list[str]", value))


def _foreign(requirement: str) -> str | None:
    """Return why `requirement` is more than a name and versions; raise for one that is not a requirement."""
    if len(requirement) > _MAX_REQUIREMENT or not requirement.isprintable():
        raise InlineMetadataError(f"not a dependency: {requirement[:80]!r}")
    if _REQUIREMENT.fullmatch(requirement):
        return None
    if _DIRECT.match(requirement):
        return f"the direct URL '{requirement}'"
    if requirement.startswith(("-", ".", "/", "~")) or "/" in requirement or "\\" in requirement:
        return f"the path or option '{requirement}'"
    raise InlineMetadataError(f"not a dependency: '{requirement}'")
