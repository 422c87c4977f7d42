"""Importing a skill's modules from its own folder, under names that no other skill can meet.

Every skill gets a root package of its own, `skillkit_skills.<name>_<digest>`. A finder knows the roots
and nothing else, so `sys.path` stays as it is, relative imports work, and two skills with a module
of the same name have two modules.
"""

import atexit
import importlib.util
import os
import sys
import types
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib.abc import MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec
from pathlib import Path
from threading import RLock

from skillkit.core.digest import FileDigest, TreeDigest, file_digest, read_tree
from skillkit.core.disk import agent_home, writable_folder
from skillkit.core.limits import TREE_BYTES, TREE_FILES
from skillkit.core.pinned_trees import TreeStore

_NAMESPACE = "skillkit_skills"
_lock = RLock()
_importing: dict[str, RLock] = {}
_copies = ExitStack()
atexit.register(_copies.close)


@dataclass(frozen=True, slots=True)
class SkillSources:
    """The Python files of a skill as they were when its digest was taken, by relative path."""

    base: Path
    digest: str
    files: Mapping[str, bytes]

    def find(self, parts: Sequence[str]) -> str | None:
        """The file of the module or package with these parts of a name."""
        path = "/".join(parts)
        candidates = (f"{path}.py", f"{path}/__init__.py") if parts else ("__init__.py",)
        return next((candidate for candidate in candidates if candidate in self.files), None)

    def has_folder(self, parts: Sequence[str]) -> bool:
        prefix = "".join(f"{part}/" for part in parts)
        return any(path.startswith(prefix) for path in self.files)


def read_sources(base: Path) -> SkillSources:
    """Digest the whole tree and keep what can be imported: it is not read from the disk again."""
    digests: dict[str, FileDigest] = {}
    sources: dict[str, bytes] = {}
    for path, executable, chunks in read_tree(base, max_files=TREE_FILES, max_bytes=TREE_BYTES):
        if path.endswith(".py"):
            sources[path] = b"".join(chunks)
        digests[path] = file_digest([sources[path]] if path in sources else chunks, executable)
    return SkillSources(base, TreeDigest.of(digests).digest, sources)


def pinned(sources: SkillSources) -> SkillSources:
    """The same code, with the data beside it in a private copy of this digest until the program ends."""
    store = TreeStore(writable_folder(agent_home()) / "trees")
    return replace(sources, base=_copies.enter_context(store.pinned(sources.base, sources.digest)))


class _Loader(SourceLoader):
    """Loads modules from the digested bytes."""

    def __init__(self, fullname: str, sources: SkillSources, path: str) -> None:
        self._fullname = fullname
        self._sources = sources
        self._path = os.fspath(sources.base / path)

    def get_filename(self, fullname: str) -> str:
        return self._path

    def get_data(self, path: str | bytes) -> bytes:
        relative = os.path.relpath(os.fsdecode(path), self._sources.base)
        if (known := self._sources.files.get(relative)) is not None:
            return known
        with open(path, "rb") as file:
            return file.read()


class _SkillFinder(MetaPathFinder):
    """Finds modules in the sources that were registered, and nowhere else."""

    def __init__(self) -> None:
        self.roots: dict[str, SkillSources] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        namespace, _, rest = fullname.partition(".")
        root, _, module = rest.partition(".")
        if namespace != _NAMESPACE or root not in self.roots:
            return None
        sources = self.roots[root]
        parts = module.split(".") if module else []
        source = sources.find(parts)
        if source is not None:
            return importlib.util.spec_from_file_location(
                fullname,
                sources.base / source,
                loader=_Loader(fullname, sources, source),
                # Empty: no finder looks for a package's modules on the disk.
                submodule_search_locations=[] if source.endswith("__init__.py") else None,
            )
        if not sources.has_folder(parts):
            return None
        return ModuleSpec(fullname, None, is_package=True)


_finder = _SkillFinder()


def import_module(sources: SkillSources, root: str, module: str) -> types.ModuleType:
    """Import `module` of a skill; a failure leaves nothing of it behind."""
    name = f"{_NAMESPACE}.{root}"
    with _lock:
        if _finder not in sys.meta_path:
            sys.meta_path.insert(0, _finder)
        if _NAMESPACE not in sys.modules:
            namespace = types.ModuleType(_NAMESPACE)
            namespace.__path__ = []
            sys.modules[_NAMESPACE] = namespace
        if root not in _finder.roots:
            _finder.roots[root] = pinned(sources)
        importing = _importing.setdefault(root, RLock())
    with importing:  # of this skill alone: one that never returns holds no other
        before = set(sys.modules)
        try:
            return importlib.import_module(f"{name}.{module}")
        except BaseException:
            for imported in [key for key in list(sys.modules) if key.startswith(name) and key not in before]:
                del sys.modules[imported]
            raise
