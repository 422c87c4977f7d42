"""HTML made of values: whatever is put in is text unless this module made it."""

from collections.abc import Iterable, Sequence
from html import escape

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
    """Return text with what cannot be seen, or would turn the line around, written out."""
    if text.isascii() and text.isprintable():
        return text
    return "\n".join(escape_hidden(line) for line in text.split("\n"))


def tag(name: str, /, *content: object, **attributes: object) -> Markup:
    """Return an element; `class_` stands for `class`, `data_x` for `data-x`, None and False for nothing."""
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
    headings: Sequence[str], rows: Iterable[Sequence[object]], caption: str, **attributes: object
) -> Markup:
    """Return a table with a caption for those who cannot see it; a phone shows each row as a card."""
    head = tag("thead", tag("tr", [tag("th", heading, scope="col") for heading in headings]))
    labelled = ([*zip(headings, row, strict=True)] for row in rows)
    cells = ([tag("td", cell, data_label=heading) for heading, cell in row] for row in labelled)
    body = tag("tbody", [tag("tr", row) for row in cells])
    inner = tag("table", tag("caption", caption, class_="unseen"), head, body, **attributes)
    return tag("div", inner, class_="scroll", tabindex="0", role="region", aria_label=caption)


def bar(parts: Iterable[tuple[str, float]], whole: float, label: str) -> Markup:
    """Return a bar of coloured parts, each named in its tooltip and the whole for screen readers."""
    pieces = []
    position = 0.0
    for kind, size in parts:
        share = 100 * size / whole if whole else 0.0
        place = {"x": f"{position:.2f}", "y": "0", "width": f"{share:.2f}", "height": "10"}
        pieces.append(tag("rect", tag("title", f"{kind}: {size:,.0f}"), class_=f"part {kind}", **place))
        position += share
    return tag(
        "svg",
        pieces,
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        class_="bar",
        role="img",
        aria_label=label,
    )
