"""What every test shares: skills written to disk, and a home folder of its own."""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from program import run_here

# How long an example takes says what else the machine does, and nothing about the code.
settings.register_profile(
    "any-machine", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("fast", settings.get_profile("any-machine"), max_examples=25)
settings.load_profile("any-machine")

# What a shell starts in the background ignores SIGINT; programs of tests would ignore Ctrl-C as well.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

LARGE = {
    "numpy": ["unit/matching/test_semantic.py"],
    "playwright": [
        "adversarial/inspector",
        "integration/inspector",
        "integration/registry/test_registry_pages_in_a_browser.py",
    ],
    "ray": ["integration/fleet"],
}
"""Packages that only `dev.py test all` installs, and the tests that cannot be read without them."""
collect_ignore = [path for package, paths in LARGE.items() if not find_spec(package) for path in paths]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What compares with embeddings needs the extra `semantic`, which the fast tests do without."""
    for item in items:
        values = getattr(item, "callspec", None)
        if values is not None and not {"hybrid", "semantic"}.isdisjoint(
            value for value in values.params.values() if isinstance(value, str)
        ):
            item.add_marker(pytest.mark.slow)


READ_FILES: set[Path] = set()


def pytest_collect_file(file_path: Path) -> None:
    """Show progress on stderr: results come only when every worker has read all tests."""
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw0" and file_path.suffix == ".py":
        READ_FILES.add(file_path)
        if len(READ_FILES) % 25 == 0:
            print(f"  {len(READ_FILES)} files read", file=sys.__stderr__, flush=True)


WriteSkill = Callable[..., Path]
RunAgent = Callable[..., "subprocess.CompletedProcess[str]"]


def pytest_configure(config: pytest.Config) -> None:
    """The fast tests try fewer examples; `settings.default.max_examples` is how many a test has to scale."""
    if "not slow" in config.getoption("markexpr"):
        settings.load_profile("fast")


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test sees the skills, settings or caches of the person who runs it."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / ".cache"))
    for name in (
        "AGENT_HOME",
        "AGENT_SKILLS",
        "SKILL_MATCHING_MODE",
        "SKILL_MATCHING_THRESHOLD",
        "SKILL_FALLBACK_MODE",
    ):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture(autouse=True)
def own_log() -> Iterator[None]:
    """A test that runs the program in its own process does not silence the log of the next one."""
    logger = logging.getLogger("skillkit")
    level, propagate, handlers = logger.level, logger.propagate, logger.handlers[:]
    logger.setLevel(logging.NOTSET)
    logger.propagate = True
    yield
    logger.setLevel(level)
    logger.propagate = propagate
    logger.handlers[:] = handlers


@pytest.fixture
def skills_dir(tmp_path: Path) -> Path:
    """An empty folder for skills."""
    folder = tmp_path / "skills"
    folder.mkdir()
    return folder


@pytest.fixture
def write_skill(skills_dir: Path) -> WriteSkill:
    """Write a SKILL.md: `write_skill("pdf", "Do $ARGUMENTS", version="1.0.0", into=folder)`."""

    def write(
        name: str,
        body: str = "# Instructions\n",
        *,
        description: str | None = None,
        into: Path | None = None,
        header: str | None = None,
        **fields: str,
    ) -> Path:
        folder = (into or skills_dir) / name
        folder.mkdir(parents=True, exist_ok=True)
        lines = [f"name: {name}", f"description: {description or f'What {name} does'}"]
        lines += [f"{key.replace('_', '-')}: {value}" for key, value in fields.items()]
        text = "\n".join(lines) if header is None else header
        (folder / "SKILL.md").write_text(f"---\n{text}\n---\n{body}", encoding="utf-8")
        return folder

    return write


@pytest.fixture
def run_agent(tmp_path: Path) -> RunAgent:
    """The program in this process, in an empty folder and with the test's home."""

    def run(
        *arguments: object, cwd: Path | None = None, **environment: str
    ) -> "subprocess.CompletedProcess[str]":
        return run_here(*arguments, cwd=cwd or tmp_path, environment={**os.environ, **environment})

    return run


@pytest.fixture
def start_agent(tmp_path: Path) -> RunAgent:
    """The same in a process of its own, for what only a process can show; ten times as dear."""

    def run(
        *arguments: object, cwd: Path | None = None, **environment: str
    ) -> "subprocess.CompletedProcess[str]":
        program = "from skillkit.agent.cli import main; main()"
        return subprocess.run(
            [sys.executable, "-c", program, *map(str, arguments)],
            cwd=cwd or tmp_path,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return run
