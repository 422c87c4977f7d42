"""How far a budget of tokens goes: every name first, then descriptions by rank, in growing lengths."""

from collections.abc import Callable, Sequence

STEPS: tuple[int | None, ...] = (60, 120, 240, 480, None)
"""Lengths in characters that descriptions grow through; the last is whole."""
CUT = "…"


def allot(
    order: Sequence[int],
    budget: int,
    describe: Callable[[int, int | None], str],
    price: Callable[[int, str], int],
) -> dict[int, str]:
    """What is shown of each entry of `order`, best first, for at most `budget` tokens in all.

    `describe(entry, length)` is a description cut to `length`, `price(entry, description)` what the
    entry costs with it. An entry that is missing from the answer does not fit even by its name. The
    work is bounded by the budget, not by the number of entries: nothing behind the first entry that
    does not fit is looked at.
    """
    shown: dict[int, str] = {}
    paid: dict[int, int] = {}
    left = budget

    def buy(entry: int, description: str) -> bool:
        nonlocal left
        if shown.get(entry) == description:
            return True
        cost = price(entry, description)
        more = cost - paid.get(entry, 0)
        if more > left:
            return False
        left -= more
        paid[entry] = cost
        shown[entry] = description
        return True

    if all(buy(entry, "") for entry in order):
        for length in STEPS:
            if not all(buy(entry, describe(entry, length)) for entry in order):
                break
    return shown


def cut(text: str, length: int | None) -> str:
    """`text` in at most `length` characters, between words where that is possible, visibly."""
    if length is None or len(text) <= length:
        return text
    kept = text[: length - 1]
    if not text[length - 1].isspace():
        space = kept.rfind(" ")
        kept = kept[:space] if space > length // 2 else kept
    return kept.rstrip(" ,;:.-") + CUT
