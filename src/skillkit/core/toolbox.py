"""Tools for a model: the core knows their shape, a layer above makes them."""

from collections.abc import Mapping
from importlib import import_module
from typing import Protocol

_MAKER = ("skillkit.integrations.plain", "SkillTools")


class Toolbox(Protocol):
    """The tools of one conversation."""

    def tools(self) -> list[dict[str, object]]: ...

    async def call(self, name: str, arguments: Mapping[str, object] | str | None = None) -> str: ...


def toolbox_for(manager: object) -> Toolbox:
    """The tools of `manager`, made by a layer above the core; found by name when first asked for."""
    module, name = _MAKER
    toolbox: Toolbox = getattr(import_module(module), name)(manager)
    return toolbox
