"""Bundled skills are trusted for their bytes."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from recipes.reference import digests

from skillkit import SkillManager
from skillkit.agent.approvals import Approvals
from skillkit.core import shipped
from skillkit.core.authority import DefaultAuthority, Requester
from skillkit.core.models import SourceType
from skillkit.core.shipped import is_as_shipped
from skillkit.core.sources import BUNDLED
from skillkit.install.authority import UserAuthority
from skillkit.install.consents import Consent, ConsentKind
from skillkit.install.registry import InstallRegistry

NOBODY = Requester()


@pytest.fixture
def bundled(tmp_path):
    """A copy of the bundled hello-extended that may be changed, as if it had been installed there."""
    folder = tmp_path / "site-packages" / "hello-extended"
    shutil.copytree(BUNDLED / "hello-extended", folder)
    manager = SkillManager(project_skill_dir=folder.parent, anthropic_config_dir="")
    manager.discover()
    return replace(manager.get_skill("hello-extended"), source=SourceType.BUNDLED, source_label="bundled")


def test_what_is_written_down_is_what_ships():
    recorded = shipped._recorded()
    assert recorded == digests(), "python3 dev.py reference writes them anew"
    assert set(recorded) == {"hello-extended", "kalshi-markets", "skill-author"}


def test_what_installing_adds_changes_nothing(bundled):
    cached = bundled.base_dir / "toolsets" / "__pycache__"
    cached.mkdir(exist_ok=True)
    (cached / "hello.cpython-311.pyc").write_bytes(b"bytecode")
    for path in bundled.base_dir.rglob("*.py"):
        path.chmod(0o755)
    assert is_as_shipped(bundled)


def test_the_same_bytes_elsewhere_are_not_bundled(bundled):
    assert not is_as_shipped(replace(bundled, source=SourceType.PROJECT))


def _edited(folder: Path) -> None:
    with (folder / "toolsets" / "hello.py").open("a") as file:
        file.write("# changed\n")


def _added(folder: Path) -> None:
    (folder / "scripts" / "extra.py").write_text("print(1)\n")


def _removed(folder: Path) -> None:
    next((folder / "scripts").glob("*.py")).unlink()


def _linked(folder: Path) -> None:
    (folder / "scripts" / "link.py").symlink_to("/etc/passwd")


@pytest.mark.parametrize("change", [_edited, _added, _removed, _linked])
def test_a_bundled_skill_that_was_changed_is_not_trusted(bundled, tmp_path, change):
    home = tmp_path / "home"
    authority = UserAuthority(InstallRegistry(home))
    approvals = Approvals(authority, authority.consents)
    everybody = (authority, approvals, DefaultAuthority())
    assert authority.trust(bundled).trusted
    assert not any(each.import_refusal(bundled, "sha256:any", NOBODY) for each in everybody)
    assert approvals.approved(bundled, "sha256:any")
    change(bundled.base_dir)
    trust = authority.trust(bundled)
    assert not trust.trusted
    assert "skillkit ships" in trust.reason or "cannot be approved" in trust.reason
    assert all(each.import_refusal(bundled, "sha256:any", NOBODY) for each in everybody)
    assert not approvals.approved(bundled, "sha256:any")


def test_a_changed_one_can_be_approved_as_it_is(bundled, tmp_path):
    home = tmp_path / "home"
    authority = UserAuthority(InstallRegistry(home))
    _edited(bundled.base_dir)
    digest = authority.trust(bundled).digest
    authority.consents.grant(Consent(ConsentKind.USE, digest, bundled.name, str(bundled.base_dir)))
    assert authority.trust(bundled).trusted
    assert authority.import_refusal(bundled, digest, NOBODY) is None
    assert authority.import_refusal(bundled, "sha256:other", NOBODY) is not None
