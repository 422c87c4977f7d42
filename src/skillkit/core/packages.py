"""Skills that installed Python packages ship in `<package>/.agents/skills`, found without importing them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

FOLDER = Path(".agents", "skills")


def package_skill_folders(names: Sequence[str] | None = None) -> Iterator[tuple[str, Path]]:
    """Import name and skills folder of each installed package that ships one; `names` limits the search."""
    wanted = None if names is None else set(names)
    for name, folder in sorted(_top_level_folders()):
        if (wanted is None or name in wanted) and (folder / FOLDER).is_dir():
            yield name, (folder / FOLDER).resolve()


def _top_level_folders() -> set[tuple[str, Path]]:
    import importlib.machinery
    import sys

    found: set[tuple[str, Path]] = set()
    for entry in sys.path:
        try:
            folders = [child for child in Path(entry or ".").iterdir() if child.is_dir()]
        except OSError:
            continue
        for folder in folders:
            if folder.name.isidentifier() and (folder / FOLDER).is_dir():
                spec = importlib.machinery.PathFinder.find_spec(folder.name, [entry])
                if spec is not None and spec.submodule_search_locations:
                    found.add((folder.name, folder))
    return found
