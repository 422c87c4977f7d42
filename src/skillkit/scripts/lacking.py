"""What a script plainly uses and a sandbox without mounts cannot give, found before it starts."""

import ast
import os
import re
from collections.abc import Iterator

from skillkit.scripts.interpreters import PYTHON
from skillkit.scripts.sandbox.backend import Backend

SHARED_MEMORY = (
    "multiprocessing needs shared memory, which the sandbox '{}' cannot give; "
    "install bubblewrap, or use threads"
)
_MODES = (
    "It makes a file executable, and in the sandbox '{}' modes of files cannot be changed; "
    "install bubblewrap, or start the file by its interpreter"
)
_PROCESS_POOL = "ProcessPoolExecutor"
_SEMAPHORES = frozenset(
    "Array Barrier BoundedSemaphore Condition Event JoinableQueue Lock Manager Pool Queue RLock Semaphore "
    "SimpleQueue Value shared_memory".split()
)
_SHELLS = frozenset({"sh", "bash", "dash", "ksh", "zsh"})
_CHMOD = re.compile(
    rb"^[^#\n]*?\bchmod[ \t]+(?:-[A-Za-z]+[ \t]+)*(?:[ugoa]*[+=][rwst]*x|[0-7]*[1357][0-7]{0,2}[ \t])", re.M
)


def find_lacking(backend: Backend, kind: str, content: bytes) -> str | None:
    """Return why a script of this kind cannot work in `backend`, as far as its text says."""
    if backend.mounts or not backend.confines:
        return None
    modes_are_fixed = os.geteuid() != 0
    if kind in _SHELLS:
        found = _MODES if modes_are_fixed and _CHMOD.search(content) else None
    elif kind == PYTHON:
        found = _lacking_of_python(content, modes_are_fixed=modes_are_fixed)
    else:
        found = None
    return None if found is None else found.format(backend.name)


def _lacking_of_python(content: bytes, *, modes_are_fixed: bool) -> str | None:
    try:
        nodes = list(ast.walk(ast.parse(content)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if any(name in _SEMAPHORES or name == _PROCESS_POOL for name in _names_of_multiprocessing(nodes)):
        return SHARED_MEMORY
    if modes_are_fixed and any(isinstance(node, ast.Call) and _makes_executable(node) for node in nodes):
        return _MODES
    return None


def _names_of_multiprocessing(nodes: list[ast.AST]) -> Iterator[str]:
    modules = {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == "multiprocessing"
    }
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module in ("multiprocessing", "concurrent.futures"):
            is_pool = node.module == "concurrent.futures"
            yield from (alias.name for alias in node.names if not is_pool or alias.name == _PROCESS_POOL)
        elif isinstance(node, ast.Attribute) and (
            node.attr == _PROCESS_POOL or (isinstance(node.value, ast.Name) and node.value.id in modules)
        ):
            yield node.attr


def _makes_executable(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name != "chmod":
        return False
    for node in (inner for argument in call.args for inner in ast.walk(argument)):
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value & 0o111:
            return True
        if isinstance(node, ast.Attribute) and node.attr.startswith(("S_IX", "S_IRWX")):
            return True
    return False
