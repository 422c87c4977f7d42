"""Skills in Python packages, by the real pip against an index on loopback."""

import io
import zipfile
from pathlib import Path

import pytest
from file_server import FileServer
from skill_repositories import skill_text

from skillkit.install.exceptions import NetworkError, SourceError
from skillkit.install.installer import SkillInstaller
from skillkit.install.sources.kinds import parse_source


def release(server: FileServer, **versions: str) -> None:
    links = []
    for version, body in versions.items():
        number = version.removeprefix("v").replace("_", ".")
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as archive:
            archive.writestr("my_skills/__init__.py", "raise SystemExit('imported')")
            archive.writestr("my_skills/skills/pdf/SKILL.md", skill_text("pdf", body))
            info = f"my_skills-{number}.dist-info"
            archive.writestr(
                f"{info}/METADATA", f"Metadata-Version: 2.1\nName: my-skills\nVersion: {number}\n"
            )
            archive.writestr(
                f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            archive.writestr(f"{info}/RECORD", "")
        name = f"my_skills-{number}-py3-none-any.whl"
        server.files[f"/files/{name}"] = data.getvalue()
        links.append(f'<a href="{server.url}/files/{name}">{name}</a>')
    server.files["/simple/my-skills/"] = f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode()


def test_a_skill_of_a_package_is_installed_and_updated_without_running_anything(
    installer: SkillInstaller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FileServer() as server:
        for name, value in {
            "PIP_INDEX_URL": f"{server.url}/simple/",
            "PIP_CONFIG_FILE": "/dev/null",
            "PIP_NO_CACHE_DIR": "1",
            "PIP_RETRIES": "0",
            "HOME": str(tmp_path),
        }.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
        server.content_type = "text/html"
        release(server, v1_0="One.")
        [skill] = installer.add("pypi:my-skills")
        assert (skill.revision, skill.subpath) == ("1.0", "my_skills/skills/pdf")
        assert not installer.outdated()[0].outdated
        release(server, v1_0="One.", v1_1="Two.")
        assert installer.outdated()[0].outdated
        assert installer.update("pdf").revision == "1.1"
        with pytest.raises(NetworkError, match="cannot be fetched"):
            installer.look("pypi:my-skills==9.9")
    with pytest.raises(SourceError):
        parse_source("pypi:--option")
