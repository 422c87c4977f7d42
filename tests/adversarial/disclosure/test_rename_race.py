"""Another process renames other bytes over a skill's files: what was not approved is never handed out."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from skillkit.disclosure.activator import Activator
from skillkit.disclosure.exceptions import SkillRefusedError
from skillkit.disclosure.session import Origin, SkillSession
from skillkit.install.enabled import EnabledSkills
from skillkit.install.installer import SkillInstaller

ROUNDS = int(os.environ.get("RACE_ROUNDS", "400"))
"""More of them is the long form of this test."""
WRITER = """
import itertools, os, sys
from pathlib import Path
skill, stage = map(Path, sys.argv[1:])
stage.mkdir()
texts = {name: (skill / name).read_text() for name in ("SKILL.md", "notes.md")}
print("ready", flush=True)
# Long enough for a judgement to begin and end in one state, short enough to meet a reading.
for number in itertools.count():
    for name, text in texts.items():
        (stage / name).write_text(text if number % 3 else text.replace("approved", "EVIL-EVIL"))
        os.replace(stage / name, skill / name)
    for _ in range(number % 7 * 500):
        pass
"""


@pytest.fixture
def hands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Activator:
    monkeypatch.setenv("AGENT_HOME", str(tmp_path / "home"))
    skill = tmp_path / "project" / "skills" / "pdf"
    skill.mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    (skill / "SKILL.md").write_text("---\nname: pdf\ndescription: d\n---\n" + "approved text\n" * 50)
    (skill / "notes.md").write_text("approved page\n" * 50)
    enabled = EnabledSkills(bundled=False, environment={"AGENT_SKILLS": "all"})
    SkillInstaller(consent=lambda _: True).trust_folder(enabled.manager.get_skill("pdf"))
    return Activator(enabled.manager)


def test_two_versions_renamed_over_each_other(hands: Activator, tmp_path: Path) -> None:
    skill = hands.manager.get_skill("pdf").base_dir
    arguments = [sys.executable, "-c", WRITER, skill, tmp_path / "stage"]
    outcomes: Counter[str] = Counter()
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        try:
            for number in range(ROUNDS):
                session = SkillSession()
                try:
                    if number % 2:
                        text = hands.deliver("pdf", "", session, Origin.MATCHED).text
                    else:
                        text = hands.page("pdf", "notes.md", 0, 5000, session).text or ""
                except SkillRefusedError as refused:
                    outcomes[refused.code] += 1
                else:
                    outcomes["approved" if text.count("approved") == 50 else "OTHER"] += 1
        finally:
            writer.kill()
    assert outcomes["OTHER"] == 0, outcomes
    # Both happened, or nothing was tried.
    assert outcomes["approved"]
    assert outcomes["untrusted"] + outcomes["read_error"]
