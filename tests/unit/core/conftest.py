"""What the tests of the core share."""

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "pdf"
    folder.mkdir()
    (folder / "SKILL.md").touch()
    return folder / "SKILL.md"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A skill with files, beside a secret."""
    root = tmp_path / "skill"
    (root / "docs" / "deep").mkdir(parents=True)
    (root / "SKILL.md").write_text("---\n")
    (root / "docs" / "guide.md").write_text("Guide")
    (root / "docs" / "deep" / "more.txt").write_text("More")
    (tmp_path / "secret.txt").write_text("SECRET")
    (tmp_path / "sibling").mkdir()
    (tmp_path / "sibling" / "data.csv").write_text("SECRET")
    return root
