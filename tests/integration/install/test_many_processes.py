"""Several processes at once lose nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from skill_repositories import skill_text

from skillkit.install.consents import ConsentFile, ConsentKind
from skillkit.install.registry import InstallRegistry

PROGRAM = """
import sys
from pathlib import Path
from skillkit.install.installer import SkillInstaller
from skillkit.install.consents import Consent, ConsentFile, ConsentKind
home, number = Path(sys.argv[1]), sys.argv[2]
installer = SkillInstaller(home, consent=lambda proposal: True)
sys.stdin.readline()
for name in (f"s{number}a", f"s{number}b"):
    installer.add(str(home.parent / "sources" / name))
installer.remove(f"s{number}b")
(home.parent / "sources" / f"s{number}a" / "more.md").write_text("more")
installer.update(f"s{number}a")
installer.verify()
ConsentFile(home).grant(Consent(ConsentKind.RUN, f"sha256:{number}", number))
"""


@pytest.mark.parametrize("count", [2, 8])
def test_processes_that_install_at_once_lose_nothing(count: int, tmp_path: Path) -> None:
    home = tmp_path / "home"
    for number in range(count):
        for letter in "ab":
            folder = tmp_path / "sources" / f"s{number}{letter}"
            folder.mkdir(parents=True)
            (folder / "SKILL.md").write_text(skill_text(folder.name))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(home), str(number)],
            env={**os.environ, "HOME": str(tmp_path)},
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(count)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        _, complaint = process.communicate()
        assert process.returncode == 0, complaint
    registry = InstallRegistry(home)
    state = registry.load()
    assert sorted(state.skills) == [f"s{number}a" for number in range(count)]
    assert sorted(item.skill.name for item in state.removed) == [f"s{number}b" for number in range(count)]
    for skill in state.skills.values():
        assert not registry.store.edits(skill.stored, skill.files)
        assert "more.md" in skill.files
        assert len(skill.previous) == 1
    consents = ConsentFile(home)
    assert len(consents.digests(ConsentKind.RUN)) == count
    assert consents.digests(ConsentKind.USE) == {version.digest for version in state.versions()}
    assert registry.notices == []


def test_a_skill_that_another_process_removed_is_in_no_place(tmp_path: Path) -> None:
    registry = InstallRegistry(tmp_path / "home")
    assert registry.placement.checks(registry.load(), "gone") == ()
