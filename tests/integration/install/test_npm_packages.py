"""Skills in npm packages, by the real npm against a registry on loopback."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from file_server import FileServer
from publishers import npm_environment, release_on_npm
from skill_repositories import skill_text

from skillkit.install.exceptions import NetworkError, SourceError
from skillkit.install.installer import SkillInstaller
from skillkit.install.sources.kinds import parse_source
from skillkit.install.sources.package import NpmSource


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    with FileServer() as server:
        for name, value in npm_environment(server, tmp_path / "npm-cache").items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("HOME", str(tmp_path))
        yield server


def release(server: FileServer, ran: Path, version: str, body: str) -> None:
    scripts = dict.fromkeys(("preinstall", "postinstall", "prepack", "prepare"), f"touch {ran}")
    release_on_npm(server, version, {"skills/pdf/SKILL.md": skill_text("pdf", body=body)}, scripts)


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_a_package_is_installed_and_updated_and_nothing_of_it_is_run(
    installer: SkillInstaller, registry: FileServer, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    release(registry, ran, "1.0.0", "One.")
    [skill] = installer.add("npm:my-skills")
    assert (skill.source.kind, skill.revision, skill.subpath) == ("npm", "1.0.0", "skills/pdf")
    release(registry, ran, "1.1.0", "Two.")
    assert installer.outdated()[0].outdated
    assert installer.update("pdf").revision == "1.1.0"
    with pytest.raises(NetworkError, match="cannot be fetched"):
        installer.add("npm:not-there")
    assert not ran.exists()


def test_names_and_versions_of_packages_are_checked() -> None:
    assert parse_source("npm:@scope/name@1.2.3") == NpmSource("@scope/name", "1.2.3")
    assert parse_source("npm:@scope/name") == NpmSource("@scope/name")
    for text in ("npm:", "npm:--help", "npm:../x", "npm:a@file:/etc", "npm:a@-x", "npm:git+ssh://x"):
        with pytest.raises(SourceError):
            parse_source(text)
