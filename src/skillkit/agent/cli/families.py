"""Groups of commands, imported when one of them is asked for, and the result of a command."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from importlib import import_module
from typing import Any, NoReturn, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from skillkit.agent.cli import output
from skillkit.agent.cli.options import Json

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a command: data for `--json`, a printer for people, and the exit code."""

    data: object
    show: Callable[[], object]
    code: int = 0

    def end(self, *, json: bool) -> NoReturn:
        """Print the result in one of its two forms and leave the command."""
        if json:
            output.print_json(self.data)
        else:
            self.show()
        raise typer.Exit(self.code)


def add_options(
    function: Callable[..., Any], command: Callable[..., Any], *, replaced: str = ""
) -> Callable[..., Any]:
    """Return `command`, which calls `function`, with the options of both for Typer.

    `command` passes the argument `replaced` itself.
    """
    signature = inspect.signature(function)
    own = [each for each in inspect.signature(command).parameters.values() if each.kind is each.KEYWORD_ONLY]
    hidden = {replaced, *(each.name for each in own)}
    options = [*(each for each in signature.parameters.values() if each.name not in hidden), *own]
    wraps(function)(command)
    command.__signature__ = signature.replace(parameters=options)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in options}
    return command


def _with_json(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that returns a Result the option `--json`, and print what it returns."""
    signature = inspect.signature(function)
    if signature.return_annotation is not Result:
        return function
    knows = "json" in signature.parameters

    def command(*, json: Json = False, **given: Any) -> None:
        function(**given, **({"json": json} if knows else {})).end(json=json)

    return add_options(function, command)


def _is_plain(parameter: Any, value: Any) -> bool:
    """Return whether a value needs no conversion, for which Typer imports pydantic (slow)."""
    text = parameter.type_descriptor.annotation in (str, str | None) and isinstance(value, str)
    missing = value is None and not parameter.required
    return text or missing or (value is not None and value is parameter.default)


class _PlainCommand(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _plain(super().get_params(ctx))


def _plain(parameters: Sequence[Any]) -> list[Any]:
    """Return the parameters, which take text and defaults as they are."""
    for parameter in parameters:
        if hasattr(parameter, "type_descriptor"):  # before Typer 0.29 no value needed pydantic
            vars(parameter).setdefault("process_value", partial(_process, parameter, parameter.process_value))
    return list(parameters)


def _process(parameter: Any, convert: Callable[[Any, Any], Any], context: typer.Context, value: Any) -> Any:
    if not _is_plain(parameter, value):
        try:
            return convert(context, value)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")  # pydantic's
            raise
    return value if parameter.callback is None else parameter.callback(context, parameter, value)


class Family(typer.Typer):
    """Commands that are decorated into a module's `app`."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(rich_markup_mode=None, pretty_exceptions_enable=False, **settings)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Function], Function]:
        register = super().command(name, cls=_PlainCommand, **settings)

        def decorate(function: Function) -> Function:
            register(_with_json(function))
            return function  # which may be registered under another name too

        return decorate


def group(name: str, help: str, **settings: Any) -> Family:
    """Return a group of commands; called without a command it prints its help."""
    return Family(name=name, help=help, no_args_is_help=True, **settings)


class FamilyGroup(TyperGroup):
    """A group that starts fast: `families` says which module has which commands in its `app`."""

    families: Mapping[str, Sequence[str]] = {}

    def get_params(self, ctx: Any) -> list[Any]:
        return _plain(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for names in self.families.values() for name in names]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import the command's module; for an unknown name all modules, to suggest a similar one."""
        if cmd_name not in self.commands:
            announcing = [module for module, names in self.families.items() if cmd_name in names]
            for module in announcing or self.families:
                self.commands.update(_commands_of(import_module(module).app))
        return self.commands.get(cmd_name)


def walk(command: Any, path: tuple[str, ...] = ("agent",)) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield a command and all below it that are shown, each with the words that are typed for it."""
    yield path, command
    if isinstance(command, TyperGroup):
        context = typer.Context(command)
        for name in sorted(command.list_commands(context)):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                yield from walk(below, (*path, name))


def _commands_of(family: typer.Typer) -> dict[str, Any]:
    """Return the commands of a family by name; a group of its own is one command."""
    made = typer.main.get_group(family)
    return {family.info.name: made} if family.info.name else dict(made.commands)
