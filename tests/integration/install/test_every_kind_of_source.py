"""Every kind of source through the real program: none has less than git has."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from program import clean_environment, run_here
from publishers import PUBLISHERS, Publisher
from skill_repositories import skill_text

from skillkit.install.sources.kinds import KINDS

KIND = {
    "archive_file": "archive",
    "archive_address": "archive",
    "older_site": "site",
    "plugin_elsewhere": "marketplace",
}
NOT_PORTABLE = ("folder", "archive_file")
FORGETFUL = ("archive_address", "site", "older_site", "mcp")
"""Sources that hand out what they have now and nothing earlier."""
ONE = {"SKILL.md": skill_text("pdf", "One."), "references/a.md": "A\n"}
TWO = {
    "SKILL.md": skill_text("pdf", "Two. See https://api.example.com/v2.", allowed_tools="Bash"),
    "scripts/send.py": "print('sent')\n",
}
Agent = Callable[..., "subprocess.CompletedProcess[str]"]

pytestmark = pytest.mark.slow


@pytest.fixture(params=PUBLISHERS)
def kind(request: pytest.FixtureRequest) -> str:
    if request.param == "npm" and shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    return str(request.param)


@pytest.fixture
def publisher(kind: str, tmp_path: Path) -> Iterator[Publisher]:
    with PUBLISHERS[kind](tmp_path / "theirs") as found:
        found.publish("1.0.0", ONE)
        yield found


@pytest.fixture
def agent(publisher: Publisher, tmp_path: Path) -> Agent:
    def run(*words: str, home: str = "home") -> "subprocess.CompletedProcess[str]":
        project = tmp_path / home / "project"
        project.mkdir(parents=True, exist_ok=True)
        environment = clean_environment(tmp_path / home, **publisher.environment)
        return run_here("skill", *words, cwd=project, environment=environment)

    return run


def record(tmp_path: Path) -> dict[str, object]:
    registry = tmp_path / "home" / ".agent" / "skills" / "registry.json"
    found: dict[str, object] = json.loads(registry.read_text())["skills"]["pdf"]
    return found


def files_of(tmp_path: Path, home: str = "home") -> dict[str, str]:
    folder = tmp_path / home / ".agent" / "skills" / "pdf"
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_every_kind_that_there_is_is_among_them() -> None:
    assert {KIND.get(name, name) for name in PUBLISHERS} == set(KINDS.shipped)


def test_a_skill_is_remembered_compared_updated_rolled_back_verified_and_locked(
    kind: str, publisher: Publisher, agent: Agent, tmp_path: Path
) -> None:
    added = agent("add", publisher.source, "--trusted")
    assert added.returncode == 0, added.stderr
    assert files_of(tmp_path) == ONE
    first = record(tmp_path)
    source = first["source"]
    assert isinstance(source, dict)
    assert source["kind"] == KIND.get(kind, kind)
    assert (first["revision"] is None) == (kind == "folder")
    same = agent("outdated")
    assert same.returncode == 0, same.stdout + same.stderr
    locked = agent("sync", "--write")
    lock = tmp_path / "home" / "project" / "skills-lock.json"
    if kind in NOT_PORTABLE:
        assert (locked.returncode, lock.exists()) == (1, False), "no other machine would find it"
        assert "from a local path cannot be locked" in locked.stderr
    else:
        assert locked.returncode == 0, locked.stderr
        own = json.loads(lock.read_text())["skills"]["pdf"]["skillkit"]
        assert (own["source"], own["revision"]) == (source, first["revision"])

    publisher.publish("1.1.0", TWO)
    newer = agent("outdated")
    assert newer.returncode == 3, newer.stdout + newer.stderr
    unasked = agent("update", "pdf")
    assert (unasked.returncode, files_of(tmp_path)) == (4, ONE), unasked.stderr
    for shown in ("scripts/send.py (python)", "api.example.com", "Bash", "removed: references/a.md", "+Two."):
        assert shown in unasked.stderr, unasked.stderr
    updated = agent("update", "pdf", "--trusted")
    assert updated.returncode == 0, updated.stderr
    assert files_of(tmp_path) == TWO
    assert (record(tmp_path)["revision"] == first["revision"]) == (kind == "folder")
    assert (agent("outdated").returncode, agent("verify").returncode) == (0, 0)

    back = agent("rollback", "pdf", "--yes")
    assert back.returncode == 0, back.stderr
    assert files_of(tmp_path) == ONE
    assert record(tmp_path)["revision"] == first["revision"]
    assert (agent("outdated").returncode, agent("verify").returncode) == (3, 0)

    if kind not in NOT_PORTABLE:
        other = tmp_path / "other" / "project"
        other.mkdir(parents=True)
        shutil.copy(lock, other)
        restored = agent("sync", "--frozen", "--yes", home="other")
        if kind in FORGETFUL:
            assert restored.returncode != 0
            assert not files_of(tmp_path, "other")
            assert "pdf" in restored.stderr
        else:
            assert restored.returncode == 0, restored.stderr
            assert files_of(tmp_path, "other") == ONE


def test_a_skill_whose_file_is_spelled_otherwise_is_named(
    kind: str, publisher: Publisher, agent: Agent, tmp_path: Path
) -> None:
    if kind in ("mcp", "site"):
        pytest.skip("what it publishes is a skill, not files by name")
    publisher.publish("1.0.1", {"skill.md": skill_text("pdf")})
    refused = agent("add", publisher.source, "--trusted")
    assert refused.returncode != 0
    assert "spelled skill.md" in refused.stderr, refused.stderr
    assert "Traceback" not in refused.stderr
