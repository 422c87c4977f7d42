"""Skills in npm packages, by the real npm against a registry on loopback."""

import base64
import hashlib
import io
import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from file_server import FileServer
from skill_repositories import skill_text

from skillkit.install.exceptions import NetworkError, SourceError
from skillkit.install.installer import SkillInstaller
from skillkit.install.sources.kinds import parse_source
from skillkit.install.sources.npm import NpmSource


def packed(version: str, body: str, ran: Path) -> bytes:
    scripts = dict.fromkeys(("preinstall", "postinstall", "prepack", "prepare"), f"touch {ran}")
    manifest = {"name": "my-skills", "version": version, "scripts": scripts}
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for path, text in (
            ("package/package.json", json.dumps(manifest)),
            ("package/skills/pdf/SKILL.md", skill_text("pdf", body=body)),
        ):
            info = tarfile.TarInfo(path)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return data.getvalue()


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    with FileServer() as server:
        monkeypatch.setenv("npm_config_registry", server.url)
        monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm-cache"))
        monkeypatch.setenv("npm_config_update_notifier", "false")
        monkeypatch.setenv("npm_config_fetch_retries", "0")
        monkeypatch.setenv("HOME", str(tmp_path))
        yield server


def release(server: FileServer, ran: Path, **versions: str) -> None:
    listed = {}
    for name, body in versions.items():
        version = name.removeprefix("v").replace("_", ".")
        data = packed(version, body, ran)
        server.files[f"/my-skills/-/my-skills-{version}.tgz"] = data
        integrity = f"sha512-{base64.b64encode(hashlib.sha512(data).digest()).decode()}"
        address = f"{server.url}/my-skills/-/my-skills-{version}.tgz"
        dist = {"tarball": address, "integrity": integrity}
        listed[version] = {"name": "my-skills", "version": version, "dist": dist}
    packument = {"name": "my-skills", "dist-tags": {"latest": list(listed)[-1]}, "versions": listed}
    server.files["/my-skills"] = json.dumps(packument).encode()


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_a_package_is_installed_and_updated_and_nothing_of_it_is_run(
    installer: SkillInstaller, registry: FileServer, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    release(registry, ran, v1_0_0="One.")
    [skill] = installer.add("npm:my-skills")
    assert (skill.source.kind, skill.revision, skill.subpath) == ("npm", "1.0.0", "skills/pdf")
    shutil.rmtree(tmp_path / "npm-cache")
    release(registry, ran, v1_0_0="One.", v1_1_0="Two.")
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
