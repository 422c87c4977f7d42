"""A function of a program as a script of a skill: a file that runs alone, with options for arguments."""

import ast
import builtins
import dis
import inspect
import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any

from skillkit.core.exceptions import ConfigurationError
from skillkit.toolsets.schema import Signature

_TYPES = {"string": "", "integer": ", type=int", "number": ", type=float"}
_MAIN = """
if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, argument_default=argparse.SUPPRESS)
{options}
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    given = vars(parser.parse_args())
    as_json = given.pop("json", False)
    result = {call}
    if isinstance(result, str) and not as_json:
        print(result)
    else:
        print(json.dumps(result, ensure_ascii=False, default=str))
"""


def script_text(function: Callable[..., Any], dependencies: Sequence[str] = ()) -> str:
    """Return the file; raises ConfigurationError for a function that cannot run on its own."""
    name = function.__name__
    source = _source(function)
    signature = Signature.of(function)
    properties = signature.schema["properties"]
    required = signature.schema["required"]
    assert isinstance(properties, Mapping)
    assert isinstance(required, list)
    options = [_option(name, each, field, each in required) for each, field in properties.items()]
    runs_async = inspect.iscoroutinefunction(function)
    call = f"asyncio.run({name}(**given))" if runs_async else f"{name}(**given)"
    parts = [f"# /// script\n# dependencies = {json.dumps([*dependencies])}\n# ///"] if dependencies else []
    parts += [repr(signature.description), "from __future__ import annotations"]
    parts += ["import argparse\n" + ("import asyncio\n" if runs_async else "") + "import json\n"]
    main = _MAIN.format(options="\n".join(options), call=call).replace("\n\n", "\n", 1)
    return "\n\n".join(parts) + f"\n{source}\n{main}"


def _source(function: Callable[..., Any]) -> str:
    """Return the definition of a function without its decorators, once it is known to need nothing else."""
    name = function.__name__
    try:
        text = textwrap.dedent(inspect.getsource(function))
        node = ast.parse(text).body[0]
    except (OSError, TypeError, SyntaxError, IndexError) as error:
        raise _refused(name, "its source cannot be read") from error
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        raise _refused(name, "it is not written with def")
    code = function.__code__
    outside = sorted({*code.co_freevars, *_globals_of(code)} - vars(builtins).keys() - {name})
    if outside:
        raise _refused(
            name, f"it uses {', '.join(outside)} from outside; import or define that in the function"
        )
    source = "\n".join(text.splitlines()[node.lineno - 1 :])
    try:  # what its defaults use is not part of its code
        exec(compile(f"from __future__ import annotations\n{source}", f"<{name}>", "exec"), {})
    except Exception as error:
        raise _refused(name, f"its definition fails on its own: {error}") from error
    return source


def _globals_of(code: CodeType) -> set[str]:
    """Return the global names that code uses, nested functions included."""
    found = {each.argval for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL"}
    return found.union(*(_globals_of(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


def _option(script: str, name: str, field: Mapping[str, Any], required: bool) -> str:
    """Return the line that declares one argument as an option."""
    if name == "json":
        raise _refused(script, "an argument cannot be named 'json': every script has an option of that name")
    kinds = [each for each in field.get("anyOf", [field]) if each.get("type") != "null"]
    kind = kinds[0] if len(kinds) == 1 else {"type": "several"}
    given = f", choices={kind['enum']!r}" if "enum" in kind else ""
    several = kind.get("type") == "array"
    if several:
        kind = kind.get("items") or {}
    wanted = kind.get("type", "string")
    if wanted == "boolean" and not several:
        given += ", action=argparse.BooleanOptionalAction"
    elif wanted in _TYPES:
        given += _TYPES[wanted] + (', nargs="*"' if several else "")
    else:
        raise _refused(script, f"'{name}' must be text, a number, a bool, or a list of strings or numbers")
    given += ", required=True" if required else ""
    described = field.get("description")
    given += f", help={str(described).replace('%', '%%')!r}" if described else ""
    return f'    parser.add_argument("--{name.replace("_", "-")}"{given})'


def _refused(name: str, reason: str) -> ConfigurationError:
    return ConfigurationError(f"The function '{name}' cannot be a script: {reason}", "scripts")
