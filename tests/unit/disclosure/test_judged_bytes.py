"""What was judged is what is handed out."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from skillkit import SkillManager
from skillkit.core.authority import DefaultAuthority, Requester
from skillkit.core.availability import Refusal
from skillkit.core.digest_memo import tree_digests
from skillkit.core.models import SkillMetadata
from skillkit.disclosure.activator import Activator
from skillkit.disclosure.exceptions import SkillRefusedError
from skillkit.disclosure.session import Origin, SkillSession


class Approved(DefaultAuthority):
    """Trusts one digest; `then` happens right after each judgement."""

    def __init__(self, digest: str, then: Callable[[], object]) -> None:
        self.digest = digest
        self.then = then

    def offer_refusal(self, skill: SkillMetadata, requester: Requester) -> Refusal | None:
        found = tree_digests.plain(skill.base_dir).digest
        self.then()
        return None if found == self.digest else Refusal("untrusted", "other bytes")


@pytest.fixture
def folder(write_skill) -> Path:
    folder = write_skill("pdf", "Good.")
    (folder / "notes.md").write_text("good " * 1000)
    return folder


def activator(folder: Path, then: Callable[[], object]) -> Activator:
    manager = SkillManager(project_skill_dir=folder.parent, anthropic_config_dir="")
    manager.discover()
    manager.authority = Approved(tree_digests.plain(folder).digest, then)
    return Activator(manager)


def swapped(path: Path, text: str) -> Callable[[], None]:
    """Replaces a file whenever it is called, as an attacker does in a race that is always won."""

    def swap() -> None:
        other = path.with_name("other")
        other.write_text(text)
        os.replace(other, path)

    return swap


def test_instructions_that_change_after_the_judgement_are_not_handed_out(folder: Path) -> None:
    bad = (folder / "SKILL.md").read_text().replace("Good.", "Evil.")
    hands = activator(folder, swapped(folder / "SKILL.md", bad))
    with pytest.raises(SkillRefusedError) as refused:
        hands.deliver("pdf", "", SkillSession(), Origin.MATCHED)
    assert refused.value.code == "untrusted"


def test_a_page_that_changes_after_the_judgement_is_not_handed_out(folder: Path) -> None:
    hands = activator(folder, swapped(folder / "notes.md", "evil " * 1000))
    with pytest.raises(SkillRefusedError) as refused:
        hands.page("pdf", "notes.md", 10, 20, SkillSession())
    assert refused.value.code == "untrusted"


def test_a_file_that_changes_back_and_forth_is_given_up(folder: Path) -> None:
    """The judge always sees the approved file, the reader never."""
    file = folder / "SKILL.md"
    good, bad = file.read_text(), file.read_text().replace("Good.", "Evil.")
    hands = activator(folder, swapped(file, bad))
    usable = hands.usable

    def restored(*arguments: object, **options: object) -> SkillMetadata:
        swapped(file, good)()
        return usable(*arguments, **options)

    hands.usable = restored
    with pytest.raises(SkillRefusedError) as refused:
        hands.deliver("pdf", "", SkillSession(), Origin.MATCHED)
    assert refused.value.code == "read_error"


def test_what_stays_as_it_was_judged_is_handed_out(folder: Path) -> None:
    hands = activator(folder, lambda: None)
    session = SkillSession()
    for _ in range(2):
        assert "Good." in hands.deliver("pdf", "", session, Origin.MATCHED).text
    page = hands.page("pdf", "./notes.md", 10, 20, session)
    assert (page.text, page.offset, page.next_offset) == ("good good good good ", 10, 30)
