"""Skills with scripts on disk, and the three calls over them."""

import os
import shutil
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from skillkit import SkillManager
from skillkit.core.authority import DefaultAuthority, Requester
from skillkit.core.models import SkillMetadata
from skillkit.scripts import Grants, Limits, LocalRunner, ScriptRequest, ScriptTools, capture


@dataclass
class FixedGrants(DefaultAuthority):
    """Grants the same to every skill and remembers for which digests it was asked."""

    given: Grants
    digests: list[str] = field(default_factory=list)

    def grants(self, skill: SkillMetadata, digest: str, requester: Requester) -> Grants:
        self.digests.append(digest)
        return self.given


@dataclass
class Workshop:
    """A folder of skills that any user can read: as root, scripts run as somebody else."""

    folder: Path
    home: Path
    runners: list[LocalRunner] = field(default_factory=list)

    def skill(self, name: str = "demo", header: str = "", **scripts: str | bytes) -> Path:
        """Write a skill; `status_py="…"` becomes `scripts/status.py`."""
        base = self.folder / name
        (base / "scripts").mkdir(parents=True, exist_ok=True)
        (base / "SKILL.md").write_text(
            f"---\nname: {name}\ndescription: Does {name}\n{header}\n---\n# {name}\n"
        )
        for file, content in scripts.items():
            stem, _, suffix = file.rpartition("_")
            path = base / "scripts" / f"{stem}.{suffix}"
            path.write_bytes(content if isinstance(content, bytes) else textwrap.dedent(content).encode())
        return base

    def manager(self) -> SkillManager:
        manager = SkillManager(
            project_skill_dir=self.folder,
            anthropic_config_dir="",
            plugin_dirs=[],
            additional_search_paths=[],
        )
        manager.discover()
        return manager

    def tools(
        self,
        grants: Grants | None = None,
        *,
        sandbox: str | None = None,
        limits: Limits | None = None,
        concurrency: int | None = None,
        progress: Callable[[str], None] = lambda line: None,
    ) -> ScriptTools:
        runner = LocalRunner(self.home, sandbox=sandbox, concurrency=concurrency, progress=progress)
        self.runners.append(runner)
        authority = FixedGrants(grants or Grants())
        return ScriptTools(self.manager(), runner, authority, limits=limits)


@pytest.fixture(scope="session")
def shared_home() -> Iterator[Path]:
    """Environments and self-tests are made once for all tests of a worker."""
    home = Path(tempfile.mkdtemp(prefix="skillkit-tests-"))
    os.chmod(home, 0o755)
    yield home
    for folder, _, _ in os.walk(home):
        os.chmod(folder, 0o755)
    shutil.rmtree(home)


@pytest.fixture
def workshop(shared_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workshop]:
    """Where skills are made; no run may leave anything in the folder for temporary files."""
    folder = Path(tempfile.mkdtemp(prefix="skillkit-tests-"))
    os.chmod(folder, 0o755)
    temporary = folder / ".tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    made = Workshop(folder, shared_home)
    yield made
    for runner in made.runners:
        runner.close()
    left = os.listdir(temporary)
    shutil.rmtree(folder)
    assert left == [], left


@pytest.fixture
def time_is_up(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let runs of the tools made last reach their time limit with the first line that they print.

    However busy the machine is, the script has come that far then, and nobody waits for the limit.
    """
    passed = 0.0

    class Clock:
        @staticmethod
        def monotonic() -> float:
            return time.monotonic() + passed

    def follow(request: ScriptRequest, line: str) -> None:
        nonlocal passed
        passed = 3600.0

    def arrange() -> None:
        monkeypatch.setattr(capture, "time", Clock)
        workshop.runners[-1].follow = follow

    return arrange


@pytest.fixture(params=["bwrap", "landlock"])
def confining(request: pytest.FixtureRequest, shared_home: Path) -> str:
    """Each backend that claims to hold a script on this machine."""
    return _working(request.param, shared_home)


@pytest.fixture(params=["bwrap", "landlock", "none"])
def backend(request: pytest.FixtureRequest, shared_home: Path) -> str:
    """Each backend that works on this machine."""
    return _working(request.param, shared_home)


def _working(name: str, home: Path) -> str:
    runner = LocalRunner(home)
    reason = runner.sandbox.report().get(name)
    runner.close()
    if reason:
        pytest.skip(f"{name}: {reason}")
    return name
