"""The API reference: every public name with its signature and docstring, as a page of the site.

It is made anew whenever the site is built, so that it cannot differ from the program.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from itertools import pairwise
from types import ModuleType

MODULES = (
    "skillkit",
    "skillkit.core.authority",
    "skillkit.core.grants",
    "skillkit.disclosure",
    "skillkit.matching",
    "skillkit.scripts",
    "skillkit.toolsets",
    "skillkit.install.installer",
    "skillkit.install.enabled",
    "skillkit.install.authority",
    "skillkit.install.consents",
    "skillkit.install.views",
    "skillkit.integrations.conversation",
    "skillkit.integrations.plain",
    "skillkit.integrations.agent_framework",
    "skillkit.integrations.langchain",
    "skillkit.integrations.pydantic_ai",
    "skillkit.integrations.openai_agents",
    "skillkit.integrations.anthropic",
    "skillkit.integrations.mcp",
    "skillkit.integrations.mcp.client",
)
WIDTH = 100
_BOUND = re.compile(r"\((?:self|cls)(?:, |(?=\)))")
_COMMA = re.compile(r", (?=\*|/|\w+(?::|=))")
_QUOTED = re.compile(r"(?<=: )'([^']+)'|(?<=-> )'([^']+)'")
_QUALIFIED = re.compile(r"~?\b(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_])|~")
_LITERALS = (str, int, float, bool, type(None))


def page() -> str:
    """Return the whole reference as Markdown."""
    head = (
        "# The API\n\n"
        "Every public name, made from the docstrings. Names that begin with an underscore, and modules that "
        "are not listed here, may change at any time.\n"
    )
    return "\n".join([head, *(section(import_module(name)) for name in MODULES)])


def section(module: ModuleType) -> str:
    """Return one module: what it is for, then its classes and functions."""
    parts = [f"## {module.__name__}\n\n{_prose(module)}\n"]
    parts += [_described(name, value) for name, value in public(module)]
    return "\n".join(parts)


def public(module: ModuleType) -> Iterator[tuple[str, object]]:
    """Yield the classes and functions that `module` offers; without `__all__`, those that it defines."""
    named = getattr(module, "__all__", None)
    for name in sorted(named if named is not None else vars(module)):
        value = getattr(module, name)
        if name.startswith("_") or not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        if named is not None or value.__module__ == module.__name__:
            yield name, value


def _described(name: str, value: object) -> str:
    kind = "class" if inspect.isclass(value) else "function"
    lines = [f"### {name}\n", f"{kind} · `{_module(value)}`\n", _prose(value), ""]
    if inspect.isclass(value) and issubclass(value, Enum):
        lines += [f"- `{member.name}` = `{member.value!r}`" for member in value]
    elif not (inspect.isclass(value) and issubclass(value, BaseException)):
        lines += ["```python", f"{name}{_wrapped(_signature(value), len(name))}", "```", ""]
    if inspect.isclass(value):
        lines += [f"- `{field}`: {_flat(text)}" for field, text in _fields(value)]
        lines += [f"- {member}" for member in _members(value)]
    return "\n".join([*lines, ""])


def _fields(kind: type) -> Iterator[tuple[str, str]]:
    """Yield the attributes that have a docstring of their own beneath them."""
    try:
        [body] = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    except (OSError, TypeError):
        return
    for field, text in pairwise(body.body if isinstance(body, ast.ClassDef) else []):
        named = isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if named and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            yield ast.unparse(field.target), str(text.value.value)


def _members(kind: type) -> Iterator[str]:
    """Yield the public methods and properties that the class itself defines and describes."""
    for name, value in sorted(vars(kind).items()):
        if name.startswith("_"):
            continue
        if isinstance(value, property):
            if value.__doc__:
                yield f"`{name}`: {_flat(value.__doc__)}"
            continue
        method = getattr(value, "__func__", value)
        if inspect.isfunction(inspect.unwrap(method)) and method.__doc__:
            yield f"`{name}{_BOUND.sub('(', _signature(method))}`: {_flat(method.__doc__)}"


class _Computed:
    """A default that is not written down but worked out, and may be anything: a whole environment, say."""

    def __repr__(self) -> str:
        return "…"


def _signature(value: object) -> str:
    try:
        signature = inspect.signature(value)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return "(…)"
    parameters = [
        each
        if each.default is each.empty or isinstance(each.default, _LITERALS) or each.default == ()
        else each.replace(default=_Computed())
        for each in signature.parameters.values()
    ]
    text = _QUALIFIED.sub("", str(signature.replace(parameters=parameters)))
    return _QUOTED.sub(lambda quoted: quoted[1] or quoted[2], text).removesuffix(" -> None")


def _wrapped(signature: str, indent: int) -> str:
    """Return a long signature with a line for each argument."""
    if indent + len(signature) <= WIDTH:
        return signature
    arguments, close, result = signature[1:].rpartition(")")
    lines = _COMMA.sub(",\n    ", arguments)
    return f"(\n    {lines},\n{close}{result}"


def _module(value: object) -> str:
    return str(getattr(value, "__module__", ""))


def _prose(value: object) -> str:
    """Return the docstring as paragraphs in which nothing is taken for HTML."""
    text = inspect.getdoc(value) or ""
    if inspect.isclass(value) and text.startswith(f"{value.__name__}("):  # made by dataclass
        return ""
    return _without_tags(text)


def _flat(text: str) -> str:
    return _without_tags(" ".join(inspect.cleandoc(text).split()))


def _without_tags(text: str) -> str:
    pieces = re.split(r"(`[^`\n]*`)", text)
    return "".join(piece if piece.startswith("`") else piece.replace("<", "&lt;") for piece in pieces)
