"""A real git server on loopback: what is transferred, and what is said when it does not work."""

import contextlib
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from git_http_server import GitServer
from skill_repositories import Repository, skill_text

from skillkit.install.exceptions import (
    AccessError,
    GitError,
    NetworkError,
    RefNotFoundError,
)
from skillkit.install.installer import SkillInstaller
from skillkit.install.proposal import Proposal
from skillkit.install.sources.source import Access


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    with GitServer(tmp_path / "repositories") as running:
        yield running


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repositories" / "skills.git")


ADD_AND_MEASURE = """
import resource, sys
from pathlib import Path
from skillkit.install.installer import SkillInstaller
from skillkit.core import process
from skillkit.install.sources.source import Access

process.MAX_MEMORY = 64 << 20
try:
    SkillInstaller(Path(sys.argv[1]), consent=lambda _: True, access=Access(back_off=(0, 0))).add(sys.argv[2])
except Exception as error:
    print(type(error).__name__, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""In a program of its own: what its children took is not told from what others did before."""


def installer(tmp_path: Path, seen: list[Proposal] | None = None) -> SkillInstaller:
    def consent(proposal: Proposal) -> bool:
        if seen is not None:
            seen.append(proposal)
        return True

    return SkillInstaller(tmp_path / "home", consent=consent, access=Access(back_off=(0, 0)))


def test_one_skill_of_a_thousand_files_transfers_and_writes_only_that_skill(
    server: GitServer, repository: Repository, tmp_path: Path
) -> None:
    files: dict[str, bytes | str] = {}
    for number in range(100):
        files[f"skills/s{number}/SKILL.md"] = skill_text(f"s{number}")
        files |= {f"skills/s{number}/references/{page}.md": os.urandom(4000).hex() for page in range(9)}
    assert len(files) == 1000
    repository.commit(files)
    everything = sum(len(content) for content in files.values())
    [skill] = installer(tmp_path).add(f"{server.url}/skills.git", skills=["s42"])
    own = sum(len(content) for path, content in files.items() if path.startswith("skills/s42/"))
    assert len(skill.files) == 10
    assert server.sent < own + 60_000 < everything / 20
    written = [path for path in (tmp_path / "home" / "store").rglob("*") if path.is_file()]
    assert len(written) == 11, "ten files and the record of where they came from"


def test_a_server_that_cannot_filter_or_hand_out_commits_is_used_in_full(
    server: GitServer, repository: Repository, tmp_path: Path
) -> None:
    repository.git("config", "uploadpack.allowFilter", "false")
    repository.git("config", "uploadpack.allowAnySHA1InWant", "false")
    server.protocol = "version=0"
    old = repository.commit({"SKILL.md": skill_text("old")})
    new = repository.commit({"SKILL.md": skill_text("old", body="New.")})
    seen: list[Proposal] = []
    [skill] = installer(tmp_path, seen).add(f"{server.url}/skills.git", ref=old)
    assert (skill.name, skill.commit_sha) == ("old", old)
    assert installer(tmp_path, seen).update("old", ref=new).commit_sha == new
    assert seen[-1].offers[0].notes == (), "the history is known and is plain growth"
    rewritten = repository.commit({"SKILL.md": skill_text("old", body="Other.")}, fresh=True)
    installer(tmp_path, seen).update("old", ref=rewritten)
    assert "no longer has the installed commit" in seen[-1].offers[0].notes[0]


def test_a_dumb_server_of_plain_files_is_used_in_full(
    server: GitServer, repository: Repository, tmp_path: Path
) -> None:
    repository.commit({"SKILL.md": skill_text("plain")})
    repository.git("update-server-info")
    repository.git("config", "http.uploadpack", "false")
    root = repository.path.parent

    def plain_files(handler: BaseHTTPRequestHandler) -> bool:
        path = root / handler.path.partition("?")[0].lstrip("/")
        content = path.read_bytes() if path.is_file() else b""
        handler.send_response(200 if path.is_file() else 404)
        handler.send_header("Content-Type", "text/plain")
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)
        return True

    server.refuse = plain_files
    assert installer(tmp_path).add(f"{server.url}/skills.git")[0].name == "plain"


def test_network_trouble_is_tried_again_twice(
    server: GitServer, repository: Repository, tmp_path: Path
) -> None:
    repository.commit({"SKILL.md": skill_text("stubborn")})
    failures = []

    def fail_twice(handler: BaseHTTPRequestHandler) -> bool:
        if len(failures) == 2:
            return False
        failures.append(handler.path)
        handler.send_error(503)
        return True

    server.refuse = fail_twice
    assert installer(tmp_path).add(f"{server.url}/skills.git")[0].name == "stubborn"
    assert len(failures) == 2


def test_network_trouble_that_stays_is_said_and_changes_nothing(
    server: GitServer, repository: Repository, tmp_path: Path
) -> None:
    repository.commit({"SKILL.md": skill_text("far")})
    opened = installer(tmp_path)
    opened.add(f"{server.url}/skills.git")
    before = (tmp_path / "home" / "skills" / "registry.json").read_bytes()
    attempts = []

    def fail(handler: BaseHTTPRequestHandler) -> bool:
        attempts.append(handler.path)
        handler.send_error(502)
        return True

    server.refuse = fail
    with pytest.raises(NetworkError, match="cannot be reached"):
        opened.update("far")
    assert len(attempts) == 3
    assert (tmp_path / "home" / "skills" / "registry.json").read_bytes() == before
    [fresh] = opened.outdated()
    assert fresh.error
    assert not fresh.outdated


def test_a_server_that_is_not_there_is_network_trouble(tmp_path: Path) -> None:
    with pytest.raises(NetworkError):
        installer(tmp_path).add("http://127.0.0.1:1/skills.git")


def test_a_repository_that_is_not_there_is_said_so(server: GitServer, tmp_path: Path) -> None:
    with pytest.raises(AccessError, match=r"nothing\.git"):
        installer(tmp_path).add(f"{server.url}/nothing.git")


def test_a_missing_branch_is_said_so(server: GitServer, repository: Repository, tmp_path: Path) -> None:
    repository.commit({"SKILL.md": skill_text("here")})
    with pytest.raises(RefNotFoundError, match="gone"):
        installer(tmp_path).add(f"{server.url}/skills.git", ref="gone")


def basic_authentication(handler: BaseHTTPRequestHandler) -> bool:
    if handler.headers.get("Authorization") == "Basic YWRhOnNlc2FtZQ==":
        return False
    handler.send_response(401)
    handler.send_header("WWW-Authenticate", 'Basic realm="skills"')
    handler.send_header("Content-Length", "0")
    handler.end_headers()
    return True


def test_a_private_repository_without_credentials_says_what_is_missing(
    server: GitServer, repository: Repository, tmp_path: Path
) -> None:
    repository.commit({"SKILL.md": skill_text("secret")})
    server.refuse = basic_authentication
    with pytest.raises(AccessError, match="requires authentication"):
        installer(tmp_path).add(f"{server.url}/skills.git")


def test_a_private_repository_opens_with_the_users_own_credential_helper(
    server: GitServer, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit({"SKILL.md": skill_text("secret")})
    server.refuse = basic_authentication
    config = tmp_path / "gitconfig"
    config.write_text('[credential]\n\thelper = "!f() { echo username=ada; echo password=sesame; }; f"\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    [skill] = installer(tmp_path).add(f"{server.url}/skills.git")
    assert skill.name == "secret"
    assert "sesame" not in (tmp_path / "home" / "skills" / "registry.json").read_text()


def test_an_address_that_leads_elsewhere_is_said_in_words(
    server: GitServer, repository: Repository, tmp_path: Path
) -> None:
    repository.commit({"SKILL.md": skill_text("moved")})

    def redirect(handler: BaseHTTPRequestHandler) -> bool:
        if not handler.path.startswith("/before.git"):
            return False
        handler.send_response(301)
        handler.send_header("Location", server.url + handler.path.replace("/before.git", "/skills.git"))
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return True

    server.refuse = redirect
    seen: list[Proposal] = []
    installer(tmp_path, seen).add(f"{server.url}/before.git")
    assert "skills.git" in seen[0].offers[0].notes[0]


def test_a_redirect_to_another_host_is_not_followed(
    server: GitServer, repository: Repository, tmp_path: Path
) -> None:
    repository.commit({"SKILL.md": skill_text("moved")})
    elsewhere = server.url.replace("127.0.0.1", "localhost")
    asked: list[str] = []

    def redirect(handler: BaseHTTPRequestHandler) -> bool:
        asked.append(handler.headers["Host"])
        if not handler.path.startswith("/before.git"):
            return False
        handler.send_response(301)
        handler.send_header("Location", elsewhere + handler.path.replace("/before.git", "/skills.git"))
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return True

    server.refuse = redirect
    with pytest.raises(GitError, match="another host: http://localhost"):
        installer(tmp_path).add(f"{server.url}/before.git")
    assert not any(host.startswith("localhost") for host in asked)


@pytest.mark.parametrize("place", ["GIT_ASKPASS", "SSH_ASKPASS", "core.askPass"])
def test_no_program_is_started_to_ask_for_a_password(
    server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    program, mark = tmp_path / "askpass", tmp_path / "started"
    program.write_text(f"#!/bin/sh\ntouch {mark}\necho secret\n")
    program.chmod(0o755)
    if place == "core.askPass":
        (tmp_path / "config").write_text(f"[core]\n\taskPass = {program}\n")
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    else:
        monkeypatch.setenv(place, str(program))

    def challenge(handler: BaseHTTPRequestHandler) -> bool:
        handler.send_response(401)
        handler.send_header("WWW-Authenticate", 'Basic realm="x"')
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return True

    server.refuse = challenge
    with pytest.raises(AccessError):
        installer(tmp_path).add(f"{server.url}/skills.git")
    assert not mark.exists()


def test_scratch_repositories_are_gone_afterwards(
    server: GitServer, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    for name in ("skillkit-git-killed", "skillkit-git-running", "other"):
        (scratch / name / "objects").mkdir(parents=True)
    for name in ("skillkit-git-killed", "other"):
        os.utime(scratch / name, (0, 0))
    repository.commit({"SKILL.md": skill_text("tidy")})
    installer(tmp_path).add(f"{server.url}/skills.git")
    assert {path.name for path in scratch.iterdir()} == {"skillkit-git-running", "other"}


def test_without_git_the_remedy_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Exception, match="git is not installed"):
        installer(tmp_path).add("https://example.com/skills.git")


def test_many_skills_of_one_repository_cost_one_question(
    server: GitServer, repository: Repository, tmp_path: Path
) -> None:
    files = {f"skills/s{number}/SKILL.md": skill_text(f"s{number}") for number in range(7)}
    repository.commit(dict(files))
    opened = installer(tmp_path)
    opened.add(f"{server.url}/{repository.path.name}", everything=True)
    before = len(server.requests)
    assert not any(found.outdated for found in opened.outdated())
    assert len(server.requests) - before <= 2
    before = len(server.requests)
    assert all(done.before == done.after for done in opened.update_each([f"s{n}" for n in range(7)]))
    assert len(server.requests) - before <= 2
    repository.commit({**files, "README.md": "Elsewhere."})
    assert not any(found.outdated for found in opened.outdated()), "only another file changed"
    repository.commit({**files, "skills/s3/SKILL.md": skill_text("s3", body="New.")})
    assert [found.skill.name for found in opened.outdated() if found.outdated] == ["s3"]
    repository.commit({path: text + "\nMore.\n" for path, text in files.items()})
    before = len(server.requests)
    done = opened.update_each([f"s{n}" for n in range(7)])
    assert all(each.before != each.after for each in done)
    of_seven = len(server.requests) - before
    repository.commit({"skills/s3/SKILL.md": skill_text("s3", body="Newer.")})
    before = len(server.requests)
    opened.update("s3")
    assert of_seven <= len(server.requests) - before <= 10


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not hold programs to a data limit")
def test_a_server_with_refs_without_end_takes_neither_memory_nor_time_without_end(
    server: GitServer, tmp_path: Path
) -> None:
    first = b"0" * 40 + b" HEAD\0symref=HEAD:refs/heads/main agent=x\n"
    beginning = b"001e# service=git-upload-pack\n0000" + b"%04x" % (len(first) + 4) + first

    def endless(handler: BaseHTTPRequestHandler) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/x-git-upload-pack-advertisement")
        handler.end_headers()
        with contextlib.suppress(OSError):
            handler.wfile.write(beginning)
            for block in itertools.count():
                names = (b"1" * 40 + b" refs/heads/%d-%d\n" % (block, number) for number in range(2000))
                handler.wfile.write(b"".join(b"%04x" % (len(name) + 4) + name for name in names))
        return True

    server.refuse = endless
    command = [sys.executable, "-c", ADD_AND_MEASURE, tmp_path / "home", f"{server.url}/skills.git"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert said[0] == "GitError"
    assert int(said[1]) < 300 << 10
    assert len(server.requests) <= 3
    assert installer(tmp_path).list() == []


def test_restoring_many_skills_of_a_repository_costs_as_many_requests_as_one(
    server: GitServer, repository: Repository, tmp_path: Path
) -> None:
    names = [f"s{number}" for number in range(7)]
    repository.commit({f"skills/{name}/SKILL.md": skill_text(name) for name in names})
    counted = []
    for wanted in (names[:1], names):
        here = tmp_path / f"of-{len(wanted)}"
        opened = installer(here / "mine")
        opened.add(f"{server.url}/skills.git", skills=wanted)
        opened.lock(here / "skills-lock.json")
        before = len(server.requests)
        assert len(installer(here / "other").sync(here / "skills-lock.json")) == len(wanted)
        counted.append(len(server.requests) - before)
    assert counted[0] == counted[1]
