"""The stock `npx skills` and `clawhub` of npm against what we publish, lock, find and adopt, on loopback."""

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from file_server import FileServer
from git_http_server import GitServer
from installing import Person
from program import clean_environment
from publishers import release_on_clawhub, serve_folder
from skill_repositories import Repository, skill_text
from stock_programs import from_npm

from skillkit.install.installer import SkillInstaller
from skillkit.install.lockfile import write_lock
from skillkit.install.publishing import publish
from skillkit.install.sources.kinds import parse_source

PACKAGES = ("node@22", "skills@1.7.4", "clawhub@0.20.0")
SKILLS, CLAWHUB = "skills/bin/cli.mjs", "clawhub/bin/clawdhub.js"
LAYOUT = {
    "skills/plain/SKILL.md": "plain",
    "skills/group/inner/SKILL.md": "inner",
    "skills/.curated/curated/SKILL.md": "curated",
    ".claude/skills/for-claude/SKILL.md": "for-claude",
    "plugins/tools/skills/of-plugin/SKILL.md": "of-plugin",
    "other/listed/SKILL.md": "listed",
}
MARKETPLACE = {
    "name": "market",
    "owner": {"name": "Ada"},
    "plugins": [
        {"name": "tools", "source": "./plugins/tools"},
        {"name": "more", "source": "./", "skills": ["./other/listed"]},
    ],
}
Npx = Callable[..., "subprocess.CompletedProcess[str]"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client(pytestconfig: pytest.Config) -> Path:
    """The client with the Node that it needs."""
    return from_npm(pytestconfig, *PACKAGES)


@pytest.fixture
def npx(client: Path, tmp_path: Path) -> Npx:
    project, home = tmp_path / "project", tmp_path / "user"
    for folder in (project, home):
        folder.mkdir()
    environment = clean_environment(home, DISABLE_TELEMETRY="1", DO_NOT_TRACK="1", CI="1")

    def run(*words: str, program: str = SKILLS) -> "subprocess.CompletedProcess[str]":
        command = [client / ".bin/node", client / program]
        return subprocess.run(
            [*map(str, command), *words],
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
    with serve_folder(tmp_path / "public") as address:
        yield address


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
    elsewhere = SkillInstaller(tmp_path / "elsewhere", consent=Person())
    restored = elsewhere.sync(lock)
    assert {item.name: item.revision for item in restored}["pdf"] == skill.revision
    assert ({item.name for item in restored}, restored.left_out) == ({"pdf", "demo"}, ())


@pytest.mark.parametrize(
    "address",
    [
        "{server}/team/skills.git",
        "{server}/team/skills",
        "{server}/team/skills#v1",
        "file://{root}/team/skills.git",
        "file://{root}/plain",
        "https://git.example.com/team/skills",
        "https://gitlab.com/team/skills#v1",
        "git@git.example.com:team/skills#v1",
    ],
)
def test_the_stock_client_restores_from_our_lock(
    npx: Npx, installer: SkillInstaller, tmp_path: Path, address: str
) -> None:
    root = tmp_path / "git"
    for path in ("team/skills.git", "plain"):
        repository = Repository(root / path)
        for ref in ("refs/tags/v1", "refs/heads/main"):
            repository.commit(
                {"skills/pdf/SKILL.md": skill_text("pdf"), "skills/pdf/references/a.md": f"{ref}\n"}, ref=ref
            )
    with GitServer(root) as server:
        url = address.format(server=server.url, root=root)
        near = parse_source(url if url.startswith(("file:", "http:")) else f"{server.url}/team/skills")
        [skill] = installer.add(str(near), everything=True)
        if url.startswith(("https:", "git@")):  # no server of that name is here: git is sent to this one
            skill = replace(skill, source=parse_source(url))
            write_lock(tmp_path / "project/skills-lock.json", {"pdf": (skill, "0" * 64)})
            hosts = ("https://git.example.com/", "https://gitlab.com/", "git@git.example.com:")
            lines = [f'[url "{server.url}/"]', *(f"insteadOf = {host}" for host in hosts)]
            (tmp_path / "user/.gitconfig").write_text("\n".join(lines))
        else:
            installer.lock(tmp_path / "project/skills-lock.json")
        done = npx("experimental_install")
    assert done.returncode == 0, done.stdout + done.stderr
    restored = tmp_path / "project/.agents/skills/pdf"
    assert (restored / "SKILL.md").read_text() == skill_text("pdf"), done.stdout
    ref = "refs/tags/v1" if address.endswith("#v1") else "refs/heads/main"
    assert (restored / "references/a.md").read_text() == f"{ref}\n"


@pytest.mark.parametrize("scope", ["", "/team"])
def test_the_stock_client_restores_a_site_from_our_lock(
    npx: Npx, installer: SkillInstaller, tmp_path: Path, scope: str
) -> None:
    skill = tmp_path / "skills/demo"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(skill_text("demo"))
    publish(tmp_path / "skills", tmp_path / f"public{scope}")
    with serve_folder(tmp_path / "public") as site:
        installer.add(f"{site}{scope}/.well-known/agent-skills")
        installer.lock(tmp_path / "project/skills-lock.json")
        done = npx("experimental_install")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "project/.agents/skills/demo/SKILL.md").read_text() == skill_text("demo"), done.stdout


def test_the_stock_client_finds_the_same_skills_in_nested_grouped_and_plugin_layouts(
    npx: Npx, installer: SkillInstaller, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    for path, name in LAYOUT.items():
        (source / path).parent.mkdir(parents=True)
        (source / path).write_text(skill_text(name))
    (source / ".claude-plugin").mkdir()
    (source / ".claude-plugin" / "marketplace.json").write_text(json.dumps(MARKETPLACE))
    done = npx("add", str(source), "--list")
    assert done.returncode == 0, done.stdout + done.stderr
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", done.stdout)
    theirs = set(re.findall(r"^│    (\S+)$", shown, re.MULTILINE))
    assert theirs == set(LAYOUT.values())
    assert {skill.name for skill in installer.add(str(source), everything=True)} == theirs


def test_what_the_stock_clawhub_installed_is_adopted_verified_and_updated(
    npx: Npx, installer: SkillInstaller, tmp_path: Path
) -> None:
    with FileServer() as server:
        release_on_clawhub(server, "1.0.0", {"SKILL.md": skill_text("pdf", "One.")})
        done = npx("install", "pdf", "--registry", server.url, "--no-input", program=CLAWHUB)
        assert done.returncode == 0, done.stdout + done.stderr
        copy = tmp_path / "project" / "skills" / "pdf"
        [adopted] = installer.adopt(tmp_path / "project")
        assert (adopted.name, adopted.source.kind, adopted.revision) == ("pdf", "clawhub", "1.0.0")
        assert not installer.outdated()[0].outdated
        [verified] = installer.verify()
        assert verified.intact
        assert not verified.strays
        release_on_clawhub(server, "1.1.0", {"SKILL.md": skill_text("pdf", "Two.")})
        assert installer.outdated()[0].outdated
        installer.update("pdf")
        assert "Two." in (copy / "SKILL.md").read_text()
