"""Untrusted Markdown as HTML that can do nothing: no HTML of its own, no script, nothing loaded."""

from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from skillkit.inspector.html import Markup, tag, visible

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
    renderer.add_render_rule("image", _image)
    renderer.add_render_rule("link_open", _link_open)
    renderer.add_render_rule("link_close", _link_close)
    return renderer


def _image(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    token = tokens[index]
    return tag("span", f"[image: {token.content or token.attrs.get('src', '')}]", class_="faint")


def _link_open(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    return f'<span class="link" title="{tag("i", tokens[index].attrs.get("href", ""))[3:-4]}">'


def _link_close(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    return "</span>"
