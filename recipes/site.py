"""The documentation site: the pages as they lie in the repository, the README as its front page.

python3 dev.py docs [FOLDER]     build it into FOLDER (site/), without a warning or not at all
"""

import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from recipes import api

ROOT = Path(__file__).resolve().parents[1]
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")


def main(arguments: list[str]) -> int:
    return build(Path(arguments[0] if arguments else ROOT / "site").absolute())


def build(site: Path) -> int:
    """Collect the pages beside the configuration and hand them to the generator."""
    with tempfile.TemporaryDirectory(prefix="skillkit-docs-") as scratch:
        collect(Path(scratch))
        code = generate(Path(scratch))
        if code == 0:
            shutil.rmtree(site, ignore_errors=True)
            shutil.move(Path(scratch) / "site", site)
    return code


def generate(folder: Path) -> int:
    """Make `folder`/site of what was collected there; every warning is an error."""
    generator = Path(sys.executable).with_name("zensical")
    return subprocess.run([generator, "build", "--strict", "--clean"], cwd=folder, check=False).returncode


def collect(folder: Path) -> None:
    """Everything that the site shows: docs/, the pages beside it, and the files that any of them link to."""
    docs = folder / "docs"
    shutil.copytree(ROOT / "docs", docs)
    shutil.copy(ROOT / "mkdocs.yml", folder)
    (docs / "api.md").write_text(api.page(), encoding="utf-8")
    pages = (path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
    for source in (*PAGES, *pages):
        place = place_of(source)

        def moved(target: str, source: str = source, place: str = place) -> str:
            found = in_repository(source, target)
            if found is None:
                return target
            there = place_of(found)
            if there.startswith("files/"):
                (docs / there).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / found, docs / there)
            return posixpath.relpath(there, posixpath.dirname(place) or ".")

        text = (ROOT / source).read_text(encoding="utf-8")
        (docs / place).write_text(with_links(text, moved), encoding="utf-8")


def place_of(source: str) -> str:
    """Where a file of the repository lies on the site; what is no page of it lies there as text."""
    if source in PAGES:
        return PAGES[source]
    return source.removeprefix("docs/") if source.startswith("docs/") else f"files/{source.lstrip('.')}.txt"


def in_repository(source: str, target: str) -> str | None:
    """The file that a link of the page `source` means, or None if it leads elsewhere."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    return path if "://" not in target and (ROOT / path).is_file() else None


def with_links(markdown: str, change: Callable[[str], str]) -> str:
    return LINK.sub(lambda link: f"{link[1]}{change(link[2])}{link[3]}", markdown)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
