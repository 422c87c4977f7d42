"""Importing a skill's modules from its own folder, under names that no other skill can meet.

Every skill gets a root package of its own, `skillkit_skills.<name>_<digest>`. A finder knows the roots
and nothing else, so `sys.path` stays as it is, relative imports work, and two skills with a module
of the same name have two modules.
"""

import importlib.machinery
import importlib.util
import os
import stat
import sys
import types
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from threading import RLock

_NAMESPACE = "skillkit_skills"
_lock = RLock()


class _Loader(importlib.machinery.SourceFileLoader):
    """Reads source and writes nothing: bytecode beside it would change the skill's digest."""

    def set_data(self, path: str, data: object, *, _mode: int = 0o666) -> None:
        return None


class _SkillFinder(MetaPathFinder):
    """Finds modules beneath the folders that were registered, and never outside them."""

    def __init__(self) -> None:
        self.roots: dict[str, Path] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        namespace, _, rest = fullname.partition(".")
        root, _, module = rest.partition(".")
        if namespace != _NAMESPACE or root not in self.roots:
            return None
        base = self.roots[root]
        parts = module.split(".") if module else []
        folder = base.joinpath(*parts)
        if parts and (source := plain_file(base, [*parts[:-1], f"{parts[-1]}.py"])) is not None:
            return importlib.util.spec_from_file_location(
                fullname, source, loader=_Loader(fullname, str(source))
            )
        start = plain_file(base, [*parts, "__init__.py"])
        if start is not None:
            return importlib.util.spec_from_file_location(
                fullname,
                start,
                loader=_Loader(fullname, str(start)),
                submodule_search_locations=[str(folder)],
            )
        if not folder.is_dir():
            return None
        package = ModuleSpec(fullname, None, is_package=True)
        package.submodule_search_locations = [str(folder)]
        return package


_finder = _SkillFinder()


def import_module(base: Path, root: str, module: str) -> types.ModuleType:
    """Import `module` of the skill at `base`; a failure leaves nothing of it behind."""
    name = f"{_NAMESPACE}.{root}"
    with _lock:
        if _finder not in sys.meta_path:
            sys.meta_path.append(_finder)
        if _NAMESPACE not in sys.modules:
            namespace = types.ModuleType(_NAMESPACE)
            namespace.__path__ = []
            sys.modules[_NAMESPACE] = namespace
        _finder.roots[root] = base
        before = set(sys.modules)
        try:
            return importlib.import_module(f"{name}.{module}")
        except BaseException:
            for imported in [key for key in sys.modules if key.startswith(name) and key not in before]:
                del sys.modules[imported]
            raise


def plain_file(base: Path, parts: Sequence[str]) -> Path | None:
    """The regular file at `parts` beneath `base`, if no component of the way is a link."""
    path = base
    for position, part in enumerate(parts):
        path = path / part
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            return None
        if not (stat.S_ISREG(mode) if position == len(parts) - 1 else stat.S_ISDIR(mode)):
            return None
    return path
