"""The stock `npx skills` and `clawhub` of npm against a registry that really serves, on loopback."""

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from program import clean_environment
from registering import skill_files
from registry_server import Serving, serving
from stock_programs import from_npm

pytestmark = pytest.mark.slow

PACKAGES = ("node@24", "skills@1.7.4", "clawhub@0.23.3")
PROGRAMS = {"skills": "skills/bin/cli.mjs", "clawhub": "clawhub/bin/clawdhub.js"}
Client = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def programs(pytestconfig: pytest.Config) -> Path:
    """The clients with the Node that they need."""
    return from_npm(pytestconfig, *PACKAGES)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("server"), "--hold", "grown", "--self-review") as started:
        yield started


@pytest.fixture
def client(programs: Path, server: Serving, tmp_path: Path) -> Client:
    node = str(programs / "node/bin/node")
    project = tmp_path / "project"
    project.mkdir()

    def run(name: str, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        given = {
            "PATH": os.environ["PATH"],
            "DISABLE_TELEMETRY": "1",
            "CI": "1",
            "SKILLS_API_URL": server.base,
            "CLAWHUB_SITE": server.base,
            "CLAWHUB_REGISTRY": server.base,
            **environment,
        }
        return subprocess.run(
            [node, str(programs / PROGRAMS[name]), *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=project,
            stdin=subprocess.DEVNULL,
            env=clean_environment(tmp_path, **given),
            timeout=120,
        )

    return run


def publish(server: Serving, owner: str, files: dict[str, str], version: str) -> None:
    from registering import packed

    token = server.token("ada", "--owner", owner, "--scope", "publish")
    headers = {"authorization": f"Bearer {token}"}
    address = f"{server.base}/api/skillkit/v1/{owner}?version={version}"
    httpx.post(address, content=packed(files), headers=headers, timeout=60).raise_for_status()


def test_npx_skills_finds_adds_pins_updates_and_restores(
    client: Client, server: Serving, tmp_path: Path
) -> None:
    publish(server, "acme", skill_files("pdf-forms", "one"), "1.0.0")
    publish(server, "acme", skill_files("other-skill", "x"), "1.0.0")
    project = tmp_path / "project"
    installed = project / ".agents" / "skills" / "pdf-forms" / "SKILL.md"
    found = client("skills", "find", "pdf")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", found.stdout)
    line = re.search(rf"{re.escape(server.base)}/\S+@pdf-forms", plain)
    assert line is not None, found.stdout + found.stderr
    added = client("skills", "add", line[0], "--agent", "codex", "-y")
    assert "one" in installed.read_text(), added.stdout + added.stderr
    publish(server, "acme", skill_files("pdf-forms", "two"), "1.1.0")
    updated = client("skills", "update", "-p", "-y")
    assert "two" in installed.read_text(), updated.stdout + updated.stderr
    shutil.rmtree(project / ".agents")
    restored = client("skills", "experimental_install")
    assert "two" in installed.read_text(), restored.stdout + restored.stderr
    pinned = client("skills", "add", f"{server.base}/acme/pdf-forms/1.0.0", "--agent", "codex", "-y")
    assert "one" in installed.read_text(), pinned.stdout + pinned.stderr
    client("skills", "check", "-p", "-y")
    assert "one" in installed.read_text()


def test_npx_skills_reads_a_private_owner_by_a_secret_path(
    client: Client, server: Serving, tmp_path: Path
) -> None:
    server.agent("registry", "owner", "add", "hidden", "--private")
    publish(server, "hidden", skill_files("secret-plan", "one"), "1.0.0")
    installed = tmp_path / "project" / ".agents" / "skills" / "secret-plan" / "SKILL.md"
    client("skills", "add", f"{server.base}/hidden/secret-plan", "--agent", "codex", "-y")
    assert not installed.exists()
    path = server.token("npx", "--owner", "hidden", "--scope", "path")
    done = client("skills", "add", f"{server.base}{path}/hidden/secret-plan", "--agent", "codex", "-y")
    assert installed.exists(), done.stdout + done.stderr


def approve_device(server: Serving, token: str, code: str) -> None:
    """What the user does in the browser."""
    with httpx.Client(base_url=server.base, headers={"origin": server.base}) as browser:
        form = re.search(r'name="form" value="(\w+)"', browser.get("/login").text)
        assert form is not None
        assert browser.post("/login", data={"form": form[1], "token": token}).status_code == 303
        form = re.search(r'name="form" value="(\w+)"', browser.get("/device").text)
        assert form is not None
        answer = browser.post("/device", data={"form": form[1], "code": code, "action": "approve"})
        assert "is signed in" in answer.text


def test_clawhub_logs_in_publishes_installs_updates_and_withdraws(
    client: Client, server: Serving, programs: Path, tmp_path: Path
) -> None:
    token = server.token("bob", "--owner", "beta", "--scope", "publish", "--scope", "read")
    process = subprocess.Popen(
        [
            str(programs / "node/bin/node"),
            str(programs / PROGRAMS["clawhub"]),
            "login",
            "--device",
            "--no-browser",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        cwd=tmp_path,
        env=clean_environment(tmp_path, PATH=os.environ["PATH"], CLAWHUB_SITE=server.base, CI="1"),
    )
    timer = threading.Timer(60, process.kill)
    timer.start()
    said = ""
    try:
        assert process.stdout is not None
        for line in process.stdout:
            said += line
            if code := re.search(r"\b([B-Z]{4}-[B-Z]{4})\b", line):
                approve_device(server, token, code[1])
                break
        said += process.stdout.read()
    finally:
        timer.cancel()
        process.kill()
        process.communicate()
    who = client("clawhub", "whoami")
    assert "beta" in who.stdout + who.stderr, said + who.stdout + who.stderr
    folder = tmp_path / "my-skill"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(skill_files("my-skill", "one")["SKILL.md"])

    def send(*words: str) -> str:
        done = client("clawhub", "publish", str(folder), "--slug", "my-skill", "--no-input", *words)
        return done.stdout + done.stderr

    said = send()
    assert "1.0.0" in said, said
    installed = tmp_path / "project" / "skills" / "my-skill" / "SKILL.md"
    done = client("clawhub", "install", "my-skill", "--no-input")
    assert "one" in installed.read_text(), done.stdout + done.stderr
    (folder / "SKILL.md").write_text(skill_files("my-skill", "two")["SKILL.md"])
    said = send("--version", "1.0.0")
    assert "already exists" in said, said
    said = send()
    assert "1.0.1" in said, said
    done = client("clawhub", "update", "my-skill", "--no-input")
    assert "two" in installed.read_text(), done.stdout + done.stderr
    (folder / "scripts" / "a.py").write_text("print(1)\n")
    said = send()
    assert "pending" in said.lower() or "review" in said.lower(), said
    found = client("clawhub", "search", "my-skill")
    assert "my-skill" in found.stdout + found.stderr
    seen = client("clawhub", "inspect", "my-skill", "--versions")
    assert "1.0.1" in seen.stdout + seen.stderr
    withdrawn = client("clawhub", "delete", "my-skill", "--version", "1.0.1", "--yes", "--no-input")
    latest = httpx.get(f"{server.base}/api/v1/skills/my-skill").json()["latestVersion"]["version"]
    assert latest == "1.0.0", withdrawn.stdout + withdrawn.stderr
    publish(server, "gamma", skill_files("my-skill", "other"), "1.0.0")
    twice = client("clawhub", "inspect", "my-skill")
    assert "gamma" in twice.stdout + twice.stderr
    pinned = client("clawhub", "install", "@beta/my-skill", "--version", "1.0.0", "--no-input", "--force")
    assert "one" in _installed(tmp_path / "project", "one"), pinned.stdout + pinned.stderr
    state = json.loads(server.agent("registry", "status", "--json").stdout)
    assert state["versions"]["held"] == 1


def _installed(project: Path, word: str) -> str:
    texts = [path.read_text() for path in project.rglob("SKILL.md")]
    return next((text for text in texts if word in text), "")


def test_clawhub_waits_and_installs_when_it_was_asked_to_come_later(
    programs: Path, client: Client, tmp_path: Path
) -> None:
    with serving(tmp_path / "limited", "--hold", "none", "--reads", "20") as limited:
        publish(limited, "acme", skill_files("pdf-forms", "one"), "1.0.0")
        address = f"{limited.base}/api/v1/search?q=pdf"
        with httpx.Client() as reader:
            refused = next(answer for answer in iter(lambda: reader.get(address), None) if answer.is_error)
        assert (refused.status_code, refused.headers["retry-after"].isdecimal()) == (429, True)
        places = {"CLAWHUB_SITE": "", "CLAWHUB_REGISTRY": limited.base}
        done = client("clawhub", "install", "@acme/pdf-forms", "--no-input", **places)
        assert list((tmp_path / "project").rglob("SKILL.md")), done.stdout + done.stderr
