"""docs/architecture.md and its picture are true to the source."""

import re
import tomllib
from pathlib import Path
from pkgutil import resolve_name

from recipes.pictures.architecture import LAYERS

import skillkit.core

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
EXTENDING = (ROOT / "docs" / "extending.md").read_text()
CORE = Path(skillkit.core.__file__).parent


def test_the_picture_has_the_layers_that_are_enforced():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [layers] = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    enforced = [layer.replace("skillkit.", "").split(" | ") for layer in layers]
    assert [name.split(" · ") for name, _ in LAYERS] == enforced


def test_the_files_that_the_page_speaks_of_exist():
    prose = re.sub(r"^```.*?^```$", "", PAGE + EXTENDING, flags=re.DOTALL | re.MULTILINE)
    named = [path for path in re.findall(r"`([\w/]+/(?:\w+\.\w+)?)`", prose) if "NAME" not in path]
    assert len(named) >= 8
    roots = (ROOT, ROOT / "src" / "skillkit")
    assert [path for path in named if not any((root / path).exists() for root in roots)] == []


def test_the_lists_that_are_to_be_extended_are_where_the_page_says():
    for list_of, file in re.findall(r"`([A-Z]+)` in `([\w/]+\.py)`", EXTENDING):
        text = (ROOT / "src" / "skillkit" / file).read_text()
        assert re.search(rf"^{list_of}\b", text, re.MULTILINE), (list_of, file)


def table(title: str) -> list[list[str]]:
    rows = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0].splitlines()
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows if row.startswith("| ")][1:]


def test_every_package_is_described():
    described = {row[0].strip("`/") for row in table("Packages")}
    packages = {path.name for path in CORE.parent.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert described == packages


def test_every_word_of_the_glossary_is_something_and_is_there_once():
    rows = table("Glossary")
    words = [row[0] for row in rows]
    assert len(words) == len(set(words)) > 25
    assert [row[0] for row in rows if row[2].count("`skillkit") != 1] == []
    for name in re.findall(r"`(skillkit[\w.]+)`", " ".join(row[2] for row in rows)):
        assert resolve_name(name), name
