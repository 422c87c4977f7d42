"""Imports of a skill's scripts, read from their source: nothing is run."""

import ast
import os
import posixpath
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from skillkit.core.digest import open_tree
from skillkit.core.limits import TREE_FILES
from skillkit.core.pinned_trees import links_of
from skillkit.scripts.interpreters import NODE_SUFFIXES

LARGEST_SOURCE = 1 << 20
_READ = (".py", ".md", ".txt", ".toml")
"""Bytes of a file that are read for imports and requirements."""
_USUAL_FOLDERS = ("scripts", "lib", "src")
_MAX_FOLLOWED = 500
_EXITS = frozenset({"exit", "_exit"})
_NODE_IMPORT = re.compile(
    r"""(?:^|[;}\s])(?:import|export)\s[^'";]{0,2000}?from\s*["']([^"'\n]{1,300})["']"""
    r"""|(?:^|[;}\s])import\s*["']([^"'\n]{1,300})["']"""
    r"""|\b(?:require|import)\(\s*["']([^"'\n]{1,300})["']\s*\)"""
)
_NODE_COMMENT = re.compile(r"(?:^\s*(?:\*|/\*)|(?:^|[\s;])//).*$", re.MULTILINE)
_NODE_PACKAGE = re.compile(r"(?:@[A-Za-z0-9~-][A-Za-z0-9._~-]*/)?[A-Za-z0-9~-][A-Za-z0-9._~-]*(?=/|$)")
_NODE_ENDINGS = ("", *NODE_SUFFIXES, "/index.js", "/index.ts")
_NODE_BUILTIN = frozenset(
    "assert async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns "
    "domain events fs http http2 https inspector module net os path perf_hooks process punycode querystring "
    "readline repl stream string_decoder sys timers tls trace_events tty url util v8 vm wasi worker_threads "
    "zlib".split()
)


def read_files(
    folder: Path, scripts: Collection[str], endings: tuple[str, ...] = _READ, most: int = LARGEST_SOURCE
) -> dict[str, bytes]:
    """All files of a skill by path, and the content of scripts and of those that end so."""
    files: dict[str, bytes] = {}
    for path, descriptor in open_tree(folder, max_files=TREE_FILES, skipped=frozenset(links_of(folder))):
        is_read = path in scripts or path.lower().endswith(endings)
        files[path] = os.pread(descriptor, most + 1, 0) if is_read else b""
    return files


class SkillSourceFiles:
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
        """Return third-party modules of a script and its local imports; whether each is optional."""
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
                self._imports[path] = imports_in(self.files[path])
            for module, optional in self._imports[path]:
                own = self._own_files(module, path, script)
                if own is not None:
                    waiting += [each for each in own if each not in seen]
                    seen.update(own)
                elif module and module.partition(".")[0] not in sys.stdlib_module_names:
                    needed[module] = needed.get(module, True) and optional
        return seen, needed

    def _own_files(self, module: str, path: str, script: str) -> list[str] | None:
        """Return the files of the skill that importing `module` reads; None for a third-party module."""
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


@lru_cache(maxsize=32)
def imports_in(content: bytes) -> tuple[tuple[str, bool], ...]:
    """Return dotted names that a module imports, and whether each is optional."""
    return tuple(_imports_in(content))


def _imports_in(content: bytes) -> Iterator[tuple[str, bool]]:
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
    """Whether a script continues after a failed import, as far as its source shows."""
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
            if name in _EXITS:
                return False
    return True


def own_places(script: str) -> list[str]:
    """Folders of a skill in which modules of a script may lie: its own, those above, the usual ones."""
    parts = script.split("/")[:-1]
    above = ["/".join(parts[:length]) for length in range(len(parts), -1, -1)]
    return [*dict.fromkeys((*above, *_USUAL_FOLDERS))]


def own_folders(tree: Path, script: str, imports: Iterable[tuple[str, bool]]) -> tuple[str, ...]:
    """The folders that have to be on the path of a script, besides its own; the skill's own is empty."""
    imported = {module.partition(".")[0] for module, _ in imports}
    names = imported - {"", *sys.stdlib_module_names}
    beside, *others = own_places(script)
    found = []
    for name in sorted(names):
        if not _has_module(tree / beside, name):
            found += [place for place in others if _has_module(tree / place, name)][:1]
    return tuple(dict.fromkeys(found))


def _has_module(folder: Path, name: str) -> bool:
    package = folder / name
    return (folder / f"{name}.py").is_file() or (
        package.is_dir() and any(next(package.glob(where), None) for where in ("*.py", "*/*.py"))
    )


def node_packages_of(script: str, files: Mapping[str, bytes]) -> set[str]:
    """Return the third-party Node.js packages that a script and its imports within the skill name."""
    found: set[str] = set()
    waiting, seen = [script], {script}
    while waiting and len(seen) < _MAX_FOLLOWED:
        path = waiting.pop()
        for name in _node_imports(files.get(path, b"")):
            if name.startswith("."):
                own = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
                follow = next((own + ending for ending in _NODE_ENDINGS if own + ending in files), None)
                if follow is not None and follow not in seen:
                    seen.add(follow)
                    waiting.append(follow)
            elif (package := _NODE_PACKAGE.match(name)) is not None and package[0] not in _NODE_BUILTIN:
                found.add(package[0])
    return found


def _node_imports(content: bytes) -> Iterator[str]:
    text = _NODE_COMMENT.sub("", content[: 1 << 20].decode("utf-8", "replace"))
    for match in _NODE_IMPORT.finditer(text):
        yield next(group for group in match.groups() if group is not None)
