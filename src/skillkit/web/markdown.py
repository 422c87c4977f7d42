"""Untrusted Markdown as HTML that can do nothing: no HTML of its own, no script, nothing loaded."""

from markdown_it import MarkdownIt
from markdown_it.token import Token

from skillkit.web.html import Markup, tag, visible

MAX_TEXT = 512 * 1024


def render(text: str) -> Markup:
    """Return instructions as HTML; links show where they lead and are not followed, images are named."""
    renderer = _renderer()
    tokens = renderer.parse(visible(text[:MAX_TEXT]))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):  # the page has headings of its own above these
            token.tag = f"h{min(6, int(token.tag[1:]) + 2)}"
    return Markup(renderer.renderer.render(tokens, renderer.options, {}))


def _renderer() -> MarkdownIt:
    renderer = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table")
    renderer.add_render_rule("image", lambda self, tokens, index, *_: _image(tokens[index]))
    renderer.add_render_rule("link_open", lambda self, tokens, index, *_: _link_open(tokens[index]))
    renderer.add_render_rule("link_close", lambda *_: "</span>")
    return renderer


def _image(token: Token) -> str:
    return tag("span", f"[image: {token.content or token.attrs.get('src', '')}]", class_="faint")


def _link_open(token: Token) -> str:
    return f'<span class="link" title="{tag("i", token.attrs.get("href", ""))[3:-4]}">'
