"""AgentToolset: a class whose public methods are tools."""

import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from skillkit.core.exceptions import SkillsUseError
from skillkit.core.grants import Limits
from skillkit.core.text import escape_hidden
from skillkit.disclosure.tools import Effect, Tool
from skillkit.toolsets.arguments import ArgumentError
from skillkit.toolsets.calls import CallThreads, ToolTimeoutError
from skillkit.toolsets.schema import Signature
from skillkit.toolsets.values import SizeLimit, TooLargeError, plain

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
    """Declare the effect of a toolset's method, and whether the user is asked before a call."""

    def mark(method: Method) -> Method:
        setattr(method, _EFFECT, effect)
        setattr(method, _ASKS, asks)
        return method

    return mark


def as_tool(method: Callable[..., Any], limits: Limits | None = None) -> Tool:
    """A function as a tool: schema from its annotations, answers and errors as data.

    `limits` bounds the time of a call and the size of what it returns, as for scripts.
    """
    signature = Signature.of(method)

    limits = limits or Limits.from_environment()
    worker = _worker_of(method)

    async def handler(**arguments: object) -> dict[str, object]:
        try:
            converted = signature.convert(arguments)
        except ArgumentError as error:
            return failure_response("invalid_arguments", str(error))
        try:
            outcome = await worker.call(method, converted, limits.timeout)
        except ToolTimeoutError as error:
            logger.error("Tool %s: %s", signature.name, error)
            return failure_response("timeout", f"{signature.name}: {error}")
        if outcome.printed:
            logger.info("Tool %s printed: %s", signature.name, escape_hidden(outcome.printed))
        try:
            if outcome.error is not None:
                raise outcome.error
            return success_response(outcome.value, signature.name, limits.output)
        except TooLargeError as error:
            return failure_response("result_too_large", f"{signature.name}: {error}")
        except BaseException as error:
            logger.exception("Tool %s failed", signature.name)
            return failure_response("execution_failed", f"{type(error).__name__}: {error}")

    return Tool(
        signature.name,
        signature.description,
        signature.schema,
        handler,
        getattr(method, _EFFECT, Effect.ACTS),
        asks=getattr(method, _ASKS, False),
    )


def _worker_of(method: Callable[..., Any]) -> CallThreads:
    """One for all methods of a toolset."""
    owner = getattr(method, "__self__", None)
    if not isinstance(owner, AgentToolset):
        return CallThreads()
    worker: CallThreads = vars(owner).setdefault("_worker", CallThreads())
    return worker


def success_response(result: object, name: str, size: int) -> dict[str, object]:
    """`result` in the standard response; a method may also give that response itself."""
    if isinstance(result, Mapping) and isinstance(result.get("success"), bool):
        given = plain(result, SizeLimit(size))
        return {"result": None, "message": "", **given} if isinstance(given, dict) else {}
    message = f"Executed {name}"
    if isinstance(result, str) and len(result) > size:
        cut = len(result) - size
        result = f"{result[: size // 2]}\n… {cut} characters left out …\n{result[-(size // 2) :]}"
        message += f"; its result was cut, {cut} characters are missing"
        size = 2 * size
    return {"success": True, "result": plain(result, SizeLimit(size)), "message": message}


def failure_response(code: str, message: str) -> dict[str, object]:
    return {"success": False, "result": None, "error": code, "message": message}


class ToolsetError(SkillsUseError, code="toolset"):
    """A toolset that a skill names cannot be used; the message says which, whose, and what to do."""

    def __init__(self, message: str, skill_name: str, toolset: str) -> None:
        super().__init__(message)
        self.skill_name = skill_name
        self.toolset = toolset
