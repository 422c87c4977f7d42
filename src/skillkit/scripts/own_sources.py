"""The Python files of a skill: what a script imports of them, and what from elsewhere."""

import ast
import sys
from collections.abc import Iterator, Mapping

from skillkit.scripts.own_modules import own_places

LARGEST_SOURCE = 1 << 20
_MAX_FOLLOWED = 500
_ENDS = frozenset({"exit", "_exit", "fail", "die", "error", "fatal"})


class OwnSources:
    """The files of a skill by path, each read once however many scripts import it."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files
        self._imports: dict[str, tuple[tuple[str, bool], ...]] = {}
        self._names: set[str] = set()
        """Modules and packages, with the folder they are in and without."""
        self._packages: set[str] = set()
        """Folders that have Python files in them or below."""
        for path in files:
            if path.endswith(".py"):
                parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
                self._names.add(parts[-1])
                folder = path.rpartition("/")[0]
                while folder and folder not in self._packages:
                    self._packages.add(folder)
                    folder = folder.rpartition("/")[0]

    def has_module(self, name: str) -> bool:
        """Whether a file or package is called so, wherever it is."""
        return name in self._names

    def imports_of(self, script: str) -> dict[str, bool]:
        """Modules from elsewhere in a script and what it imports of the skill; whether each is optional."""
        return self._follow(script)[1]

    def own_files(self, script: str) -> set[str]:
        """Return the script and the files of the skill that it imports."""
        return self._follow(script)[0]

    def _follow(self, script: str) -> tuple[set[str], dict[str, bool]]:
        needed: dict[str, bool] = {}
        waiting, seen = [script], {script}
        while waiting and len(seen) < _MAX_FOLLOWED:
            path = waiting.pop()
            if path not in self._imports:
                self._imports[path] = tuple(_imports(self.files[path]))
            for module, optional in self._imports[path]:
                own = self._own_files(module, path, script)
                if own is not None:
                    waiting += [each for each in own if each not in seen]
                    seen.update(own)
                elif module and module.partition(".")[0] not in sys.stdlib_module_names:
                    needed[module] = needed.get(module, True) and optional
        return seen, needed

    def _own_files(self, module: str, path: str, script: str) -> list[str] | None:
        """The files of the skill that importing `module` reads; None for a module of somebody else."""
        if module.startswith("."):
            level = len(module) - len(module.lstrip("."))
            parts = path.split("/")[:-level] + [part for part in module.lstrip(".").split(".") if part]
            return self._files_of("/".join(parts))
        top, rest = module.partition(".")[0], module.replace(".", "/")
        for where in dict.fromkeys((path.rpartition("/")[0], *own_places(script))):
            prefix = f"{where}/" if where else ""
            if f"{prefix}{top}.py" in self.files or f"{prefix}{top}" in self._packages:
                return self._files_of(f"{prefix}{rest}")
        return None

    def _files_of(self, path: str) -> list[str]:
        """A module's file and those of the packages it is in; a name in a module stands for that module."""
        found, parent = [], path.rpartition("/")[0]
        for name in (path, parent) if f"{path}.py" not in self.files else (path,):
            found += [each for each in (f"{name}.py", f"{name}/__init__.py") if each in self.files]
        return found


def _imports(content: bytes) -> Iterator[tuple[str, bool]]:
    """Dotted names that a module imports, and whether it goes on without."""
    if len(content) > LARGEST_SOURCE:
        return
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, optional = waiting.pop()
        if isinstance(node, ast.Import):
            yield from ((alias.name, optional) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            join = "" if base.endswith(".") else "."
            names = (base if alias.name == "*" else f"{base}{join}{alias.name}" for alias in node.names)
            yield from ((name, optional) for name in names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            waiting += [(child, optional) for child in node.orelse]
        elif isinstance(node, ast.Try):
            forgiven = optional or any(_forgives(handler) for handler in node.handlers)
            waiting += [(child, forgiven) for child in node.body]
            waiting += [(child, optional) for child in (*node.handlers, *node.orelse, *node.finalbody)]
        else:
            waiting += [(child, optional) for child in ast.iter_child_nodes(node)]


def _forgives(handler: ast.ExceptHandler) -> bool:
    """Whether a script goes on after an import that failed, as far as can be seen."""
    caught = "" if handler.type is None else ast.dump(handler.type)
    if handler.type is not None and not any(
        name in caught for name in ("'ImportError'", "'ModuleNotFoundError'", "'Exception'")
    ):
        return False
    for node in (inner for statement in handler.body for inner in ast.walk(statement)):
        if isinstance(node, ast.Raise):
            return False
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in _ENDS:
                return False
    return True
