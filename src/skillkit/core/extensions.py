"""Alternatives by name: those that ship, and those that installed packages add by entry point."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from skillkit.core.exceptions import ConfigurationError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@dataclass(frozen=True)
class Extensions:
    """The alternatives of one kind; none is imported before it is loaded."""

    group: str
    """The entry point group in which packages name theirs."""
    kind: str
    """The word for one of them in messages."""
    shipped: Mapping[str, str]
    """Name → `module:Class`; no package replaces one of these."""

    @cached_property
    def _added(self) -> "dict[str, EntryPoint]":
        from importlib.metadata import entry_points  # heavy, and most commands never ask

        found = sorted(entry_points(group=self.group), key=lambda point: point.value, reverse=True)
        return {point.name: point for point in found if point.name not in self.shipped}

    def __iter__(self) -> Iterator[str]:
        """Every name, those that ship first; packages are looked through when these are not enough."""
        yield from self.shipped
        yield from sorted(self._added)

    def load(self, name: str) -> Any:
        """Load the alternative of that name."""
        if name in self.shipped:
            module, _, attribute = self.shipped[name].partition(":")
            return getattr(import_module(module), attribute)
        if name not in self._added:
            raise ConfigurationError(
                f"There is no {self.kind} '{name}'. Choose one of: {', '.join(self)}", name
            )
        point = self._added[name]
        try:
            return point.load()
        except Exception as error:  # whatever a third-party package raises when it is imported
            package = point.dist.name if point.dist is not None else point.value
            raise ConfigurationError(
                f"The {self.kind} '{name}' cannot be loaded ({type(error).__name__}: {error}). "
                f"Update or remove the package {package}",
                name,
            ) from error
