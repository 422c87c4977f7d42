"""The stock `npx skills` of npm against what we publish and lock, on loopback."""

import functools
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from program import clean_environment
from skill_repositories import Repository, skill_text

from skillkit.core.disk import locked
from skillkit.install.installer import SkillInstaller
from skillkit.install.publishing import publish

PACKAGES = ("node@22", "skills@1.7.4")
Npx = Callable[..., "subprocess.CompletedProcess[str]"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client(pytestconfig: pytest.Config) -> Path:
    """The client with the Node that it needs, installed by npm once and kept in pytest's cache."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    folder = Path(pytestconfig.cache.mkdir("stock-clients"))
    program = folder / "node_modules" / "skills" / "bin" / "cli.mjs"
    with locked(folder / "lock"):  # the tests of this file may run in several processes
        if not program.exists():
            command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), *PACKAGES]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
            if done.returncode or not program.exists():
                pytest.skip(f"npm could not install {PACKAGES}: {done.stderr[-200:]}")
    return folder


@pytest.fixture
def npx(client: Path, tmp_path: Path) -> Npx:
    project, home = tmp_path / "project", tmp_path / "user"
    for folder in (project, home):
        folder.mkdir()
    environment = clean_environment(home, DISABLE_TELEMETRY="1", DO_NOT_TRACK="1", CI="1")

    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        program = [client / "node_modules/.bin/node", client / "node_modules/skills/bin/cli.mjs"]
        return subprocess.run(
            [*map(str, program), *words],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    return run


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    skill = tmp_path / "skills" / "demo"
    (skill / "references").mkdir(parents=True)
    (skill / "SKILL.md").write_text(skill_text("demo"))
    (skill / "references" / "a.md").write_text("A\n")
    publish(tmp_path / "skills", tmp_path / "public")
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "public"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_the_stock_client_installs_from_our_site_and_we_restore_from_its_lock(
    npx: Npx, site: str, installer: SkillInstaller, tmp_path: Path
) -> None:
    done = npx("add", site, "--skill", "demo", "--agent", "claude-code", "codex", "-y")
    assert done.returncode == 0, done.stdout + done.stderr
    installed = tmp_path / "project" / ".agents" / "skills" / "demo"
    for name in ("SKILL.md", "references/a.md"):
        assert (installed / name).read_bytes() == (tmp_path / "skills/demo" / name).read_bytes()
    restored = installer.sync(tmp_path / "project" / "skills-lock.json")
    assert ([skill.name for skill in restored], restored.left_out) == (["demo"], ())


def test_the_stock_client_leaves_our_fields_in_the_lock(
    npx: Npx, site: str, installer: SkillInstaller, repository: Repository, tmp_path: Path
) -> None:
    repository.commit({"skills/pdf/SKILL.md": skill_text("pdf")})
    [skill] = installer.add(repository.url)
    lock = tmp_path / "project" / "skills-lock.json"
    installer.lock(lock)
    before = json.loads(lock.read_text())["skills"]["pdf"]
    done = npx("add", site, "--skill", "demo", "--agent", "codex", "-y")
    assert done.returncode == 0, done.stdout + done.stderr
    after = json.loads(lock.read_text())["skills"]
    assert after["pdf"] == before
    assert "demo" in after
    assert before["skillkit"]["revision"] == skill.revision
    assert os.path.exists(tmp_path / "project/.agents/skills/demo/SKILL.md")
