"""Skills in Python packages, by the real pip against an index on loopback."""

from pathlib import Path

import pytest
from file_server import FileServer
from publishers import pypi_environment, release_on_pypi
from skill_repositories import skill_text

from skillkit.install.exceptions import NetworkError, SourceError
from skillkit.install.installer import SkillInstaller
from skillkit.install.sources.kinds import parse_source


def release(server: FileServer, version: str, body: str) -> None:
    release_on_pypi(server, version, {"skills/pdf/SKILL.md": skill_text("pdf", body)})


def test_a_skill_of_a_package_is_installed_and_updated_without_running_anything(
    installer: SkillInstaller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FileServer() as server:
        for name, value in {**pypi_environment(server), "HOME": str(tmp_path)}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
        release(server, "1.0", "One.")
        [skill] = installer.add("pypi:my-skills")
        assert (skill.revision, skill.subpath) == ("1.0", "my_skills/skills/pdf")
        assert not installer.outdated()[0].outdated
        release(server, "1.1", "Two.")
        assert installer.outdated()[0].outdated
        assert installer.update("pdf").revision == "1.1"
        with pytest.raises(NetworkError, match="cannot be fetched"):
            installer.look("pypi:my-skills==9.9")
    with pytest.raises(SourceError):
        parse_source("pypi:--option")
