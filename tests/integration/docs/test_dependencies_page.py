"""Every dependency has its reason in docs/dependencies.md, and every reason its dependency."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "dependencies.md").read_text()


def test_every_dependency_is_justified_and_nothing_else():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        wanted += extra
    declared = {re.match(r"[\w-]+", requirement)[0] for requirement in wanted} - {"skillkit"}
    cells = [line.split("|")[1] for line in PAGE.splitlines() if re.match(r"\| [\w-]+", line)][1:]
    told = {name.strip() for cell in cells for name in cell.split(",")}
    assert told == declared
