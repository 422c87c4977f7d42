"""The page does what `agent skill trust` and `disable` do, whatever is wrong with a skill."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from skillkit.core.events import NO_JOURNAL
from skillkit.core.exceptions import SkillSecurityError
from skillkit.inspector.actions import InspectorActions
from skillkit.inspector.library import Library
from skillkit.install.enabled import EnabledSkills


class Refusing(InspectorActions):
    """What a tree with a refused file name does to everybody who wants its card."""

    def _trust(self, name, consent):
        raise SkillSecurityError("a name with a line break")


def test_a_skill_that_cannot_be_approved_can_be_switched_off():
    status = SimpleNamespace(skill=SimpleNamespace(name="odd"), trust=SimpleNamespace(trusted=False))
    managing = Refusing(SimpleNamespace(status=lambda name: status), NO_JOURNAL)
    assert managing.question("disable", "odd").proposal is None
    with pytest.raises(SkillSecurityError):
        managing.question("enable", "odd")


def test_trust_also_enables_as_the_command_does(
    own_home: Path, tmp_path: Path, write_skill, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("poster", into=tmp_path / "skills")
    monkeypatch.chdir(tmp_path)
    library = Library(lambda: EnabledSkills(bundled=False), own_home / ".agent" / "journal.sqlite")
    actions = InspectorActions(library, NO_JOURNAL)
    refusal = library.status("poster").refusal
    assert refusal is not None
    assert refusal.remedy == "agent skill trust poster"
    actions.answer_yes("trust", "poster", actions.question("trust", "poster").digest)
    assert library.status("poster").active
