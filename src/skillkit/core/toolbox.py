"""Tools for a model: the core knows their shape and asks whoever is installed to make them."""

from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Protocol

from skillkit.core.exceptions import ConfigurationError

if TYPE_CHECKING:
    from skillkit.core.manager import SkillManager

GROUP = "skillkit.toolbox"


class Toolbox(Protocol):
    """The tools of one conversation."""

    def tools(self) -> list[dict[str, object]]: ...

    async def call(self, name: str, arguments: Mapping[str, object] | str | None = None) -> str: ...


def installed_toolbox(manager: "SkillManager") -> Toolbox:
    """A toolbox for `manager`, made by the entry point that skillkit declares.

    An entry point, because the tools live in a layer above the core, which imports nothing from there.
    """
    for found in entry_points(group=GROUP, name="default"):
        toolbox: Toolbox = found.load()(manager)
        return toolbox
    raise ConfigurationError(
        f"No package offers tools (entry point '{GROUP}'); skillkit was not installed completely. "
        "Install it again: pip install --force-reinstall skillkit"
    )
