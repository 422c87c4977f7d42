"""Groups of commands: a family of them is imported when one of its commands is asked for."""

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup


def commands(**settings: Any) -> typer.Typer:
    """Commands that are decorated into a family: what its module calls `app`."""
    return typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, **settings)


def group(name: str, help: str, **settings: Any) -> typer.Typer:
    """Commands behind a word of their own; without one of them, the word shows what there is."""
    return commands(name=name, help=help, no_args_is_help=True, **settings)


class FamilyGroup(TyperGroup):
    """A group that starts fast: `families` says which module has which commands in its `app`."""

    families: Mapping[str, tuple[str, ...]] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands(self.families)
        _skip_what_is_not_given(self)


class _Commands(MutableMapping[str, Any]):
    """Commands by name. To list them, or for a name that no family announces, all are imported."""

    def __init__(self, families: Mapping[str, tuple[str, ...]]) -> None:
        self._waiting = dict(families)
        self._known: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            of_name = [module for module, names in self._waiting.items() if name in names]
            self._import(of_name or list(self._waiting))
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        self._import(list(self._waiting))
        return iter(self._known)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __setitem__(self, name: str, command: Any) -> None:
        self._known[name] = command

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def _import(self, modules: list[str]) -> None:
        for module in modules:
            del self._waiting[module]
            family = import_module(module).app
            if family.info.name:  # a group of its own
                group_alone, family = family, commands()
                family.add_typer(group_alone)
            found = typer.main.get_group(family).commands
            for command in found.values():
                _skip_what_is_not_given(command)
            self._known.update(found)


def _skip_what_is_not_given(command: Any) -> None:
    """Leave text and what is not given unconverted: for that Typer would import pydantic, which doubles the
    start."""
    parameters = command.get_params

    def get_params(context: Any) -> list[Any]:
        found: list[Any] = parameters(context)
        for parameter in found:
            if "process_value" not in vars(parameter):
                parameter.process_value = _unless_plain(parameter)
        return found

    command.get_params = get_params


def _unless_plain(parameter: Any) -> Callable[[Any, Any], Any]:
    convert, callback = parameter.process_value, parameter.callback
    annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)

    def process_value(context: Any, value: Any) -> Any:
        text = annotation in (str, str | None) and isinstance(value, str)
        missing = value is None and not parameter.required
        if text or missing or (value is not None and value is parameter.default):
            return value if callback is None else callback(context, parameter, value)
        return convert(context, value)

    return process_value
