"""Load a file of cases as plain data: JSON, JSON lines or YAML, limited in size and depth."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import yaml

from skillkit.core.exceptions import ConfigurationError
from skillkit.core.foreign_json import parse_json, read_plain
from skillkit.core.limits import JSON_BYTES

LARGEST_YAML = 4 * 1024 * 1024
SUFFIXES = (".json", ".jsonl", ".yaml", ".yml")


class FormatError(ConfigurationError, code="format"):
    """The file is not a file of cases; the message has the reason."""


class _NoAliasLoader(yaml.SafeLoader):
    """YAML without aliases, which can expand a small file enormously."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)


def read_document(path: Path) -> object:
    """Load the content of a file: a mapping or a list; JSON lines become a list."""
    try:
        limit = LARGEST_YAML if path.suffix in (".yaml", ".yml") else JSON_BYTES
        text = read_plain(path, limit).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise FormatError(f"cannot be read: {error}", invalid_path=str(path)) from error
    try:
        return _parse(path, text)
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FormatError(f"is not well formed: {reason}", invalid_path=str(path)) from error


def _parse(path: Path, text: str) -> object:
    if path.suffix in (".yaml", ".yml"):
        return yaml.load(text, _NoAliasLoader)
    if path.suffix == ".jsonl":
        commented = (line.strip() for line in text.splitlines())
        return [parse_json(line) for line in commented if line and not line.startswith(("//", "#"))]
    try:
        return parse_json(text)
    except ValueError:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2:
            raise
        try:
            return [parse_json(line) for line in lines]
        except ValueError:
            pass
        raise


# Values of a third-party mapping


def text_of(item: Mapping[str, object], *keys: str) -> str:
    """Return the first text among the values of `keys`, without surrounding whitespace."""
    for key in keys:
        value = item.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""


def texts_of(value: object) -> tuple[str, ...]:
    """Return a string, or a list of strings and numbers, as a tuple of strings."""
    if isinstance(value, str):
        return (value,) if value.strip() else ()
    if isinstance(value, bool) or value is None:
        return ()
    if isinstance(value, int | float):
        return (str(value),)
    if isinstance(value, list):
        return tuple(str(part) for part in value if isinstance(part, str | int | float) and str(part).strip())
    return ()


def mapping_of(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def mappings_of(value: object) -> Iterator[Mapping[str, object]]:
    if isinstance(value, list):
        for part in value:
            if isinstance(part, Mapping):
                yield part


def number_of(value: object) -> float | None:
    """Return a number, or a duration such as `90`, `90s`, `12m` in seconds."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        text = value.strip().lower()
        scale = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
        unit = next((unit for unit in scale if text.endswith(unit)), "")
        try:
            return float(text.removesuffix(unit)) * scale.get(unit, 1.0)
        except ValueError:
            return None
    return None
