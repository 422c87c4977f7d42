"""How a Python script is used, read from its source: parsers, usage texts, documentation. Nothing is run."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

_MAX_ARGUMENTS = 100
_MAX_NODES = 50_000
_MAX_CHOICES = 20


@dataclass(slots=True)
class PythonUsage:
    """What the source says, in the order in which it says it."""

    documentation: str = ""
    program: str = ""
    usage: str = ""
    """A text that the script prints, with the word in it."""
    arguments: dict[str, list[str]] = field(default_factory=dict)
    """Lines about arguments by command; the empty one is the script itself."""
    variables: list[str] = field(default_factory=list)
    reads_input: bool = False


def read_python(content: bytes) -> PythonUsage | None:
    """Return what can be told of a script; None for what Python of this version cannot parse."""
    try:
        tree = ast.parse(content)
        return _Reader(tree).usage
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _Reader:
    def __init__(self, tree: ast.Module) -> None:
        self.usage = PythonUsage(documentation=ast.get_docstring(tree) or "")
        self._commands: dict[str, str] = {}
        """Names of variables that hold the parser of a command."""
        self._lists = dict(_named_lists(tree))
        for node in islice(ast.walk(tree), _MAX_NODES):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                self._name_command(node.value, node.targets)
        for node in islice(_in_order(tree), _MAX_NODES):
            self._read(node)
        if not self.usage.documentation:
            self.usage.documentation = _main_documentation(tree)

    def _read(self, node: ast.AST) -> None:
        if isinstance(node, ast.Call):
            self._read_call(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self._read_function(node)
        elif isinstance(node, ast.Subscript) and _last_name(node.value) == "environ":
            self._add_variable(node.slice)
        elif isinstance(node, ast.Attribute) and node.attr == "stdin":
            self.usage.reads_input = True
        if not self.usage.usage:
            self.usage.usage = _printed_usage(node)

    def _name_command(self, call: ast.Call, targets: list[ast.expr]) -> None:
        if _called(call) == "add_parser" and call.args and (name := _text(call.args[0])):
            self._commands.update({target.id: name for target in targets if isinstance(target, ast.Name)})

    def _read_call(self, call: ast.Call) -> None:
        name = _called(call)
        if name == "add_argument":
            self._add_argument(call, self._commands.get(_owner(call), ""))
        elif name == "add_parser" and call.args:
            command = _text(call.args[0])
            self.usage.arguments.setdefault(command, [])
            if told := _keyword(call, "help") or _keyword(call, "description"):
                self.usage.arguments[command].insert(0, told)
        elif name == "ArgumentParser":
            self.usage.program = self.usage.program or _keyword(call, "prog")
            self.usage.documentation = self.usage.documentation or _keyword(call, "description")
            self.usage.usage = self.usage.usage or _keyword(call, "usage")
        elif call.args and (name == "getenv" or (name == "get" and _owner(call) == "environ")):
            self._add_variable(call.args[0])

    def _read_function(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        calls = [each for each in function.decorator_list if isinstance(each, ast.Call)]
        is_command = any(
            _last_name(each.func if isinstance(each, ast.Call) else each) in ("command", "group")
            for each in function.decorator_list
        )
        if not is_command:
            return
        named = [_text(each.args[0]) for each in calls if _called(each) == "command" and each.args]
        command = named[0] if named else function.name.replace("_", "-")
        command = "" if command in ("main", "cli") else command
        self.usage.arguments.setdefault(command, [])
        if told := ast.get_docstring(function):
            self.usage.arguments[command].insert(0, told.partition("\n\n")[0].replace("\n", " "))
        options = [each for each in calls if _called(each) in ("option", "argument")]
        for each in reversed(options):
            self._add_argument(each, command)
        if not options:
            self._add_parameters(function, command)

    def _add_parameters(self, function: ast.FunctionDef | ast.AsyncFunctionDef, command: str) -> None:
        """The parameters of a command of typer, which are its arguments."""
        parameters = [*function.args.args, *function.args.kwonlyargs]
        defaults = [*function.args.defaults, *function.args.kw_defaults]
        without = len(parameters) - len(defaults)
        for number, parameter in enumerate(parameters):
            default = defaults[number - without] if number >= without else None
            noted = [ast.unparse(part) for part in (parameter.annotation, default) if part is not None]
            is_option = any("Option(" in text for text in noted) or (
                default is not None and not any("Argument(" in text for text in noted)
            )
            name = parameter.arg.replace("_", "-")
            about = next((_keyword(call, "help") for call in _calls(parameter.annotation, default)), "")
            self._add_line(command, f"--{name}" if is_option else name.upper(), about)

    def _add_argument(self, call: ast.Call, command: str) -> None:
        names = [text for each in call.args if (text := _text(each))]
        if not names:
            return
        shown = ", ".join(name for name in names if name.startswith("-") or len(names) == 1) or names[0]
        notes = [_keyword(call, "help")]
        if (choices := _value(call, "choices")) is not None:
            notes.append(f"one of {self._lists.get(choices, choices)}")
        elif words := _listed_by_type(call):
            notes.append(f"one of {', '.join(words)}")
        if (default := _value(call, "default")) not in (None, "None", "False", "..."):
            notes.append(f"default {default}")
        if _value(call, "required") == "True":
            notes.append("required")
        takes = _keyword(call, "metavar")
        self._add_line(command, f"{shown} {takes}".strip(), "; ".join(note for note in notes if note))

    def _add_line(self, command: str, name: str, about: str) -> None:
        lines = self.usage.arguments.setdefault(command, [])
        if sum(map(len, self.usage.arguments.values())) < _MAX_ARGUMENTS:
            lines.append(f"{name}  {about}".rstrip())

    def _add_variable(self, node: ast.AST) -> None:
        if (name := _text(node)) and name not in self.usage.variables:
            self.usage.variables.append(name)


def _listed_by_type(call: ast.Call) -> list[str]:
    """Return the words of an option with `type=click.Choice([...])`."""
    for keyword in call.keywords:
        match keyword:
            case ast.keyword(arg="type", value=ast.Call(args=[ast.List(elts) | ast.Tuple(elts), *_]) as kind):
                return [text for each in elts if (text := _text(each))] if _called(kind) == "Choice" else []
    return []


def _named_lists(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the names of a module that stand for a few words, such as `FORMATS`, and these words."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                pass
            case _:
                continue
        match value:
            case ast.Dict(keys=parts):
                words = [part.value for part in parts if isinstance(part, ast.Constant)]
            case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
                parts, words = (
                    [*elements],
                    [each.value for each in elements if isinstance(each, ast.Constant)],
                )
            case _:
                continue
        if 0 < len(words) == len(parts) <= _MAX_CHOICES:
            yield name, ", ".join(map(str, words))


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    """Every node, as a reader of the source meets them."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting += reversed([*ast.iter_child_nodes(current)])


def _called(call: ast.Call) -> str:
    return _last_name(call.func)


def _owner(call: ast.Call) -> str:
    return _last_name(call.func.value) if isinstance(call.func, ast.Attribute) else ""


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _calls(*nodes: ast.AST | None) -> Iterator[ast.Call]:
    for node in nodes:
        if node is not None:
            yield from (each for each in ast.walk(node) if isinstance(each, ast.Call))


def _text(node: ast.AST) -> str:
    """The text of a literal; what is put into it at run time is left open."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(each) or f"<{_put_in(each)}>" for each in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    if isinstance(node, ast.Call) and _called(node) in ("dedent", "strip", "format"):
        inner = node.args[0] if _called(node) == "dedent" and node.args else getattr(node.func, "value", node)
        return "" if inner is node else _text(inner)
    return ""


def _put_in(node: ast.AST) -> str:
    value = node.value if isinstance(node, ast.FormattedValue) else node
    return "script" if "argv" in ast.unparse(value) else ast.unparse(value)[:40]


def _value(call: ast.Call, name: str) -> str | None:
    found = next((each.value for each in call.keywords if each.arg == name), None)
    return None if found is None else ast.unparse(found)[:200]


def _keyword(call: ast.Call, name: str) -> str:
    found = next((each.value for each in call.keywords if each.arg == name), None)
    return "" if found is None else " ".join(_text(found).split()) if name != "usage" else _text(found)


def _printed_usage(node: ast.AST) -> str:
    """The lines that a block prints one after another, if the first of them is about usage."""
    for name in ("body", "orelse"):
        block = getattr(node, name, None)
        if not isinstance(block, list):
            continue
        lines: list[str] = []
        for statement in block:
            said = _printed(statement)
            if said is None or not (lines or "usage" in said.lower()):
                if lines:
                    break
                continue
            lines.append(said)
        if lines:
            return "\n".join(lines)
    return ""


def _printed(statement: ast.AST) -> str | None:
    """What a statement prints, or ends the program with."""
    call = statement.value if isinstance(statement, ast.Expr) else getattr(statement, "exc", None)
    if not isinstance(call, ast.Call) or _called(call) not in (
        "print",
        "echo",
        "exit",
        "SystemExit",
        "write",
    ):
        return None
    return " ".join(map(_text, call.args)) if call.args else ""


def _main_documentation(tree: ast.Module) -> str:
    mains = (
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in ("main", "run", "cli")
    )
    return next((told for node in mains if (told := ast.get_docstring(node))), "")
