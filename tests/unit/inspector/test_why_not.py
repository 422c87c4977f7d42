"""Why a skill was not taken is answered from what was recorded then, whatever is true today."""

from pathlib import Path

import pytest

from skillkit.core.authority import DefaultAuthority
from skillkit.core.availability import Refusal
from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata
from skillkit.disclosure import SkillContextProvider, SkillSession
from skillkit.inspector.pages.why_not import why_not
from skillkit.journal import JournalReader, Kind, SqliteJournal


class NotThisOne(DefaultAuthority):
    """Offers everything but `secret-notes`."""

    def offer_refusal(self, skill: SkillMetadata, requester: object) -> Refusal | None:
        return Refusal("untrusted", "not today") if skill.name == "secret-notes" else None


@pytest.fixture
def journal(tmp_path: Path, skills_dir: Path, write_skill) -> JournalReader:
    """A request among five skills, of which one is not on offer; afterwards all are gone."""
    write_skill("csv-report", description="Summarise CSV files as a report. Use for CSV files.")
    write_skill("release-notes", description="Write release notes from commits.")
    write_skill("haiku", description="Write a haiku about spring.")
    write_skill("secret-notes", description="Keep notes that nobody reads.")
    write_skill("by-hand", description="Only for people.", disable_model_invocation="true")
    recorder = SqliteJournal(tmp_path / "journal.sqlite")
    manager = SkillManager(
        additional_search_paths=[skills_dir],
        default_sources=False,
        bundled=False,
        authority=NotThisOne(),
        journal=recorder,
    )
    provider = SkillContextProvider(manager)
    for number in range(2):
        provider.disclose("Summarise this CSV file as a report", SkillSession(id=f"talk-{number}"))
    recorder.close()
    return JournalReader(recorder.path)


@pytest.mark.parametrize(
    ("skill", "answer"),
    [
        ("csv-report", "It matched"),
        ("haiku", "It was on offer then"),
        ("secret-notes", "It was not on offer then: it was not trusted"),
        ("by-hand", "It was not on offer then: models may not start it"),
        ("never-heard-of", "was known then, among 3 on offer"),
    ],
)
def test_any_skill_is_answered_for(journal: JournalReader, skill: str, answer: str) -> None:
    events = [stored.event for stored in journal.conversation("talk-1")]
    assert answer in why_not(journal, skill, events).replace("&#x27;", "'")


def test_an_offer_is_written_down_once(journal: JournalReader) -> None:
    kinds = [stored.event.kind for stored in journal.oldest_first()]
    assert (kinds.count(Kind.OFFERED), kinds.count(Kind.MATCHED)) == (1, 2)
