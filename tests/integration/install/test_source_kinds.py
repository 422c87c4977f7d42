"""Kinds of sources: others can add one, and a record outlives the package that knew its kind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from program import clean_environment
from skill_repositories import Repository, skill_text

from skillkit.install.exceptions import SourceError
from skillkit.install.installer import SkillInstaller
from skillkit.install.registry import InstallRegistry

PACKAGE = """
from contextlib import contextmanager
from dataclasses import dataclass, replace
from skillkit.install.sources.layout import Listing
from skillkit.install.sources.source import OpenSource, Source
from skillkit.install.tree import SkillTree, TreeFile

@dataclass(frozen=True, slots=True)
class TinySource(Source):
    kind = "tiny"
    form = "tiny:NAME"
    name: str
    path: str = ""

    @classmethod
    def parse(cls, text):
        return cls(text.removeprefix("tiny:")) if text.startswith("tiny:") else None

    @classmethod
    def from_data(cls, data):
        return cls(data["name"], data["path"])

    def to_data(self):
        return {"name": self.name, "path": self.path}

    @property
    def location(self):
        return f"tiny:{self.name}"

    def at(self, version):
        return self

    def within(self, path):
        return replace(self, path=path)

    @contextmanager
    def open(self, access):
        yield OpenTiny(self)

class OpenTiny(OpenSource):
    def __init__(self, source):
        self.followed, self.revision = source, "1"

    def listing(self, start=""):
        return Listing(("",))

    def headers(self, paths):
        return [self.text for _ in paths]

    def read(self, paths, limits):
        return [SkillTree({"SKILL.md": TreeFile(self.text)}) for _ in paths]

    @property
    def text(self):
        return f"---\\nname: {self.followed.name}\\ndescription: Tiny.\\n---\\nHi.\\n".encode()
"""


def agent(home: Path, packages: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = clean_environment(home, PYTHONPATH=str(packages), AGENT_HOME=str(home))
    return subprocess.run(
        [sys.executable, "-c", "from skillkit.agent.cli import main; main()", "skill", *words],
        env=environment,
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_package_brings_a_kind_of_source_of_its_own(tmp_path: Path) -> None:
    packages, home = tmp_path / "packages", tmp_path / "home"
    home.mkdir()
    info = packages / "tiny-1.0.dist-info"
    info.mkdir(parents=True)
    (packages / "tiny_source.py").write_text(PACKAGE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[skillkit.sources]\ntiny = tiny_source:TinySource\n")
    done = agent(home, packages, "add", "tiny:hello", "--trusted")
    assert done.returncode == 0, done.stderr
    record = json.loads((home / "skills" / "registry.json").read_text())["skills"]["hello"]
    assert record["source"] == {"kind": "tiny", "name": "hello", "path": ""}
    assert (record["revision"], record["git_url"]) == ("1", None)
    assert "up to date" in agent(home, packages, "outdated").stdout
    assert agent(home, packages, "sync", "--write").returncode == 0
    assert agent(home, packages, "sync", "--frozen", "--yes").returncode == 0

    without = tmp_path / "nothing"
    without.mkdir()
    [skill] = InstallRegistry(home).list()
    assert skill.trusted
    assert agent(home, without, "verify").returncode == 0
    failed = agent(home, without, "update", "hello")
    assert failed.returncode != 0
    assert "Unknown kind of source 'tiny'" in failed.stderr
    assert json.loads((home / "skills" / "registry.json").read_text())["skills"]["hello"] == record


def test_what_a_registry_says_of_a_source_must_be_plain_text(installer: SkillInstaller, home: Path) -> None:
    from skillkit.install.sources.kinds import source_from_data

    for data in ({"kind": "git", "url": 1}, {"kind": "git", "url": "a\u202eb"}, {"kind": 5}):
        with pytest.raises((SourceError, KeyError)):
            source_from_data(data)


def test_an_ordinary_clone_follows_its_branch(
    installer: SkillInstaller, repository: Repository, tmp_path: Path
) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", repository.url, str(clone)], check=True, env=dict(os.environ))
    [skill] = installer.add(f"file://{clone}")
    assert skill.branch == "main"
    assert installer.update("pdf") == skill
