"""The page switches a skill off whatever is wrong with it."""

from types import SimpleNamespace

import pytest

from skillkit.core.events import NO_JOURNAL
from skillkit.core.exceptions import SkillSecurityError
from skillkit.inspector.managing import Managing


class Refusing(Managing):
    """What a tree with a refused file name does to everybody who wants its card."""

    def _trust(self, name, consent):
        raise SkillSecurityError("a name with a line break")


def test_a_skill_that_cannot_be_approved_can_be_switched_off():
    status = SimpleNamespace(skill=SimpleNamespace(name="odd"), standing=SimpleNamespace(trusted=False))
    managing = Refusing(SimpleNamespace(status=lambda name: status), NO_JOURNAL)
    assert managing.question("disable", "odd").proposal is None
    with pytest.raises(SkillSecurityError):
        managing.question("enable", "odd")
