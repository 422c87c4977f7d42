"""Skills that installed Python packages ship in `<package>/.agents/skills`, found without importing them."""

import importlib.machinery
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from skillkit.core.disk import real_path
from skillkit.core.models import Diagnostic, Severity

FOLDER = Path(".agents", "skills")


def package_skill_folders(names: Sequence[str] | None = None) -> Iterator[tuple[str, Path]]:
    """Return import name and skills folder of installed packages with skills; `names` limits the search."""
    wanted = None if names is None else set(names)
    for name, folder in sorted(_shipping_packages().items()):
        if wanted is None or name in wanted:
            yield name, real_path(folder)


def missing_packages(names: Sequence[str]) -> Iterator[Diagnostic]:
    """Return a diagnostic for each named package that ships no skills."""
    shipping = _shipping_packages()
    for name in names:
        if name in shipping:
            continue
        imported = name.replace("-", "_").lower()
        near = next((each for each in shipping if each.lower() == imported), None)
        hint = f"It is imported as '{near}': name that" if near else "Name packages as they are imported"
        message = f"No installed package '{name}' has skills in {FOLDER.as_posix()}. {hint}."
        yield Diagnostic(Path(name), "package-without-skills", Severity.WARNING, message)


def _shipping_packages() -> dict[str, Path]:
    """Skills folders by import name; the package that `import` would find hides others of its name."""
    found: dict[str, Path] = {}
    for entry in sys.path:
        try:
            names = sorted(os.listdir(entry or "."))
        except OSError:
            continue
        for name in names:
            folder = Path(entry, name, FOLDER)
            if name.isidentifier() and name not in found and os.path.isdir(folder):
                spec = importlib.machinery.PathFinder.find_spec(name, [entry])
                if spec is not None and spec.submodule_search_locations:
                    found[name] = folder
    return found
