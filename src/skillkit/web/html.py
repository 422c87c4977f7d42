"""HTML elements from values; values are escaped unless this module made them."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from types import MappingProxyType

from skillkit.core.text import escape_hidden

_VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})


class Markup(str):
    """Text that is HTML already; only `tag`, `join` and the Markdown renderer make it."""

    __slots__ = ()


def text_of(content: object) -> Markup:
    """Return content as HTML: markup as it is, lists piece by piece, everything else escaped."""
    if content is None or content is False:
        return Markup("")
    if isinstance(content, Markup):
        return content
    if isinstance(content, str):
        return Markup(escape(visible(content)))
    if isinstance(content, Iterable):
        return Markup("".join(text_of(part) for part in content))
    return Markup(escape(str(content)))


def visible(text: str) -> str:
    """Return text with hidden and bidirectional characters escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "\n".join(escape_hidden(line) for line in text.split("\n"))


def tag(name: str, /, *content: object, **attributes: object) -> Markup:
    """Return an element; `class_` becomes `class`, `data_x` becomes `data-x`, None and False for nothing."""
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}"
        + ("" if value is True else f'="{escape(visible(str(value)), quote=True)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{text_of(content)}</{name}>")


def link(address: str, /, *content: object, **attributes: object) -> Markup:
    """Return a link inside the site; `address` begins with `/`."""
    if not address.startswith("/") or address.startswith("//"):
        raise ValueError(f"not an address of this site: {address!r}")
    return tag("a", *content, href=address, **attributes)


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[object]],
    caption: str,
    *,
    orders: Mapping[str, str] = MappingProxyType({}),
    ordered: str = "",
    descending: bool = True,
    **attributes: object,
) -> Markup:
    """Return a table with a caption for those who cannot see it; a phone shows each row as a card.

    A script makes the heads sort the rows, but for those in `orders`: they link to the page in that order,
    and `ordered` is the one in which it is, `descending` or not.
    """
    heads = [
        tag(
            "th",
            link(orders[heading], heading) if heading in orders else heading,
            scope="col",
            aria_sort=("descending" if descending else "ascending") if heading == ordered else None,
        )
        for heading in headings
    ]
    labelled = ([*zip(headings, row, strict=True)] for row in rows)
    cells = ([tag("td", cell, data_label=heading) for heading, cell in row] for row in labelled)
    body = tag("tbody", [tag("tr", row) for row in cells])
    caption_line = tag("caption", caption, class_="unseen")
    inner = tag("table", caption_line, tag("thead", tag("tr", heads)), body, **attributes)
    return tag("div", inner, class_="scroll", tabindex="0", role="region", aria_label=caption)
