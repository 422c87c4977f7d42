"""Results as plain data that any framework can put into JSON."""

import base64
import dataclasses
from collections.abc import Mapping, Sequence, Set
from enum import Enum

_MAX_DEPTH = 50


def plain(value: object, depth: int = 0) -> object:
    """`value` made of dictionaries, lists, texts, numbers, booleans and None; anything else as text."""
    if value is None or (isinstance(value, (str, bool, int, float)) and not isinstance(value, Enum)):
        return value
    if depth > _MAX_DEPTH:
        return str(value)
    if isinstance(value, Enum):
        return plain(value.value, depth + 1)
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return plain(dump(mode="json"), depth + 1)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: plain(getattr(value, field.name), depth + 1) for field in fields}
    if isinstance(value, Mapping):
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    if isinstance(value, (Sequence, Set)):
        return [plain(item, depth + 1) for item in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
