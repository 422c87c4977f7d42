"""Results as plain data that any framework can put into JSON."""

import base64
import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence, Set
from enum import Enum

_MAX_DEPTH = 50


class TooLargeError(ValueError):
    """A result exceeds the size limit."""


class SizeLimit:
    """Characters left for a result."""

    def __init__(self, size: int) -> None:
        self._size = self._left = size

    def spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise TooLargeError(f"the result has more than {self._size} characters; ask for less of it")


def plain(value: object, budget: SizeLimit | None = None, depth: int = 0) -> object:
    """`value` made of dictionaries, lists, texts, numbers, booleans and None; anything else as text.

    Numbers that JSON does not know become None, halves of characters U+FFFD.
    """
    if budget is not None:
        budget.spend(len(value) if isinstance(value, (str, bytes, bytearray)) else 1)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str) and not isinstance(value, Enum):
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if value is None or (isinstance(value, (bool, int, float)) and not isinstance(value, Enum)):
        return value
    if depth > _MAX_DEPTH:
        return plain(str(value), budget)
    if isinstance(value, Enum):
        return plain(value.value, budget, depth + 1)
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return plain(dump(mode="json"), budget, depth + 1)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: plain(getattr(value, field.name), budget, depth + 1) for field in fields}
    if isinstance(value, Mapping):
        return {str(plain(str(key), budget)): plain(item, budget, depth + 1) for key, item in value.items()}
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    if isinstance(value, (Sequence, Set)) or (isinstance(value, Iterator) and budget is not None):
        return [plain(item, budget, depth + 1) for item in value]
    return plain(value.isoformat() if hasattr(value, "isoformat") else str(value), budget)
