"""The list of skills: there at once, filled as skills are judged, and never with something untrue."""

from pathlib import Path

import pytest

from skillkit.inspector.library import Library
from skillkit.inspector.pages import home, skills, trust
from skillkit.install.consents import Consent, ConsentFile, ConsentKind
from skillkit.install.enabled import EnabledSkills
from skillkit.install.selection import Selection

MANY = 3 * skills.PAGE


@pytest.fixture
def library(own_home: Path, write_skill, skills_dir: Path) -> Library:
    for number in range(MANY):
        write_skill(f"skill-{number:03}", description=f"Does task {number}.")
    return Library(
        lambda: EnabledSkills(search=[skills_dir], bundled=False, selection=Selection("all-untrusted")),
        own_home / ".agent" / "journal.sqlite",
    )


def test_the_first_page_judges_only_what_it_shows_and_says_so(library: Library) -> None:
    with library.gate.page():
        first = home.show(library)
        made = skills.show(library, {})
        waiting = library.snapshot().checks.waiting
        filtered = skills.show(library, {"which": "untrusted", "offset": str(skills.PAGE)})
        pending = trust.show(library)
    assert MANY - skills.PAGE - 1 <= waiting <= MANY - skills.PAGE
    assert "skill-000" in made
    assert "skill-149" not in made
    assert "not looked at yet" in first
    assert "counting …" in made
    assert "; this list fills" in filtered
    assert "not looked at yet" in pending
    assert library.snapshot().checks.wait(60)
    assert f"of {MANY} that were found" in home.show(library)
    assert "this list fills" not in skills.show(library, {"which": "untrusted"})


def test_skills_are_filtered_ordered_and_paged(library: Library) -> None:
    found = skills.show(library, {"q": "task 14", "part": "result"})
    assert "skill-014" in found
    assert "skill-140" in found
    assert "skill-015" not in found
    last = skills.show(library, {"offset": str(2 * skills.PAGE)})
    assert "skill-149" in last
    assert "skill-099" not in last
    assert "Earlier ones" in last
    assert "No skill matches." in skills.show(library, {"which": "trusted"})
    assert "No skill matches." in skills.show(library, {"from": "nowhere"})


def test_a_page_shows_what_another_process_trusted(library: Library, own_home: Path) -> None:
    status = library.status("skill-000")
    assert not status.trust.trusted
    assert status.trust.digest
    assert not library.refresh()
    yes = Consent(ConsentKind.USE, status.trust.digest, "skill-000")
    ConsentFile(own_home / ".agent").grant(yes)
    assert library.refresh()
    assert library.status("skill-000").trust.trusted
    assert library.snapshot().checks.wait(60)
    assert "Trusted (1)" in trust.show(library)


def test_trust_names_the_files_that_changed_since_a_yes(
    library: Library, own_home: Path, skills_dir: Path
) -> None:
    digest = library.status("skill-000").trust.digest
    assert digest
    moment = "2020-01-01T00:00:00+00:00"
    ConsentFile(own_home / ".agent").grant(Consent(ConsentKind.USE, digest, "skill-000", granted_at=moment))
    (skills_dir / "skill-000" / "extra.py").write_text("print()")
    library.refresh()
    library.status("skill-000")
    made = trust.show(library)
    assert "Changed since approval" in made
    assert "extra.py" in made
