"""Alternatives that installed packages add: found by name, imported late, never in place of what ships."""

from pathlib import Path

import pytest

from skillkit.core.exceptions import ConfigurationError
from skillkit.core.extensions import Extensions

GROUP = "skillkit.tests"


@pytest.fixture
def extensions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Extensions:
    """Two that ship, and the package `addon` with three more."""
    metadata = tmp_path / "addon-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: addon\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        f"[{GROUP}]\nextra = addon_module:Extra\nordered = addon_module:Extra\nbroken = addon_absent:Extra\n"
    )
    (tmp_path / "addon_module.py").write_text("class Extra: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    return Extensions(GROUP, "thing", {"ordered": "collections:OrderedDict", "path": "pathlib:Path"})


def test_what_ships_comes_first_and_is_not_replaced(extensions: Extensions) -> None:
    assert tuple(extensions) == ("ordered", "path", "broken", "extra")
    assert extensions.load("path") is Path
    assert extensions.load("ordered").__module__ == "collections"
    assert extensions.load("extra").__name__ == "Extra"


def test_a_package_that_cannot_be_imported_is_named(extensions: Extensions) -> None:
    with pytest.raises(ConfigurationError, match=r"thing 'broken' cannot be loaded .*addon_absent.* addon$"):
        extensions.load("broken")


def test_a_name_that_nobody_has_is_refused_with_those_that_there_are(extensions: Extensions) -> None:
    with pytest.raises(ConfigurationError, match=r"no thing 'other'. Choose one of: ordered, path, broken, "):
        extensions.load("other")
