"""AgentToolset: a class whose public methods are tools."""

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from skillkit.disclosure.tools import Effect, Tool
from skillkit.toolsets.arguments import ArgumentError
from skillkit.toolsets.schema import Signature
from skillkit.toolsets.values import plain

logger = logging.getLogger(__name__)

Method = TypeVar("Method", bound=Callable[..., Any])
_EFFECT, _ASKS = "__tool_effect__", "__tool_asks__"


class AgentToolset:
    """Inherit from it, write methods with annotations and docstrings, and each is a tool.

    A method may be async or not. What it returns becomes `{"success", "result", "message"}`, unless
    it returns that already; what it raises becomes an error in the same form.
    """

    def __init__(self, config: object = None) -> None:
        self.config = config

    def get_tools(self) -> list[Callable[..., Any]]:
        """The methods that are tools: all public ones, in the order they are written."""
        names: dict[str, None] = {}
        for base in reversed(type(self).__mro__):
            if not issubclass(base, AgentToolset) or base is AgentToolset:
                continue
            names.update(
                dict.fromkeys(name for name, value in vars(base).items() if inspect.isfunction(value))
            )
        own = vars(AgentToolset)
        return [getattr(self, name) for name in names if not name.startswith("_") and name not in own]

    def tools(self) -> tuple[Tool, ...]:
        """The neutral definitions that every integration wraps."""
        return tuple(as_tool(method) for method in self.get_tools())


def tool(*, effect: Effect = Effect.ACTS, asks: bool = False) -> Callable[[Method], Method]:
    """Say what a method of a toolset does, and whether the user is asked before it is called."""

    def mark(method: Method) -> Method:
        setattr(method, _EFFECT, effect)
        setattr(method, _ASKS, asks)
        return method

    return mark


def as_tool(method: Callable[..., Any]) -> Tool:
    """A function as a tool: schema from its annotations, answers and errors as data."""
    signature = Signature.of(method)

    async def handler(**arguments: object) -> dict[str, object]:
        try:
            converted = signature.convert(arguments)
        except ArgumentError as error:
            return failed("invalid_arguments", str(error))
        try:
            if inspect.iscoroutinefunction(method):
                result = await method(**converted)
            else:
                result = await asyncio.to_thread(method, **converted)
                if inspect.isawaitable(result):
                    result = await result
            return answered(result, signature.name)
        except (Exception, SystemExit) as error:
            logger.exception("Tool %s failed", signature.name)
            return failed("execution_failed", f"{type(error).__name__}: {error}")

    return Tool(
        signature.name,
        signature.description,
        signature.schema,
        handler,
        getattr(method, _EFFECT, Effect.ACTS),
        asks=getattr(method, _ASKS, False),
    )


def answered(result: object, name: str) -> dict[str, object]:
    """`result` in the standard response; a method may also give that response itself."""
    if isinstance(result, Mapping) and isinstance(result.get("success"), bool):
        given = {str(key): plain(value) for key, value in result.items()}
        return {"result": None, "message": "", **given}
    return {"success": True, "result": plain(result), "message": f"Executed {name}"}


def failed(code: str, message: str) -> dict[str, object]:
    return {"success": False, "result": None, "error": code, "message": message}
