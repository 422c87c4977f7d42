"""`agent skill update --test`: the new version is tested before anybody is asked."""

from installing import Person
from skill_repositories import Repository, skill_text

from skillkit.evaluation.version_tests import notes_of_tests
from skillkit.install.installer import SkillInstaller


def test_what_the_tests_of_the_new_version_say_is_on_the_card(
    installer: SkillInstaller, repository: Repository, person: Person
) -> None:
    description = "Reads PDF files and returns the tables of their pages."
    repository.commit({"SKILL.md": skill_text("pdf", description=description)})
    installer.add(repository.url)
    installer.examine = notes_of_tests
    repository.commit(
        {
            "SKILL.md": skill_text("pdf", description=description, body="See [the format](format.md)."),
            "evals/triggers.json": '[{"query": "Read the tables of this PDF", "should_trigger": true}]',
        }
    )
    installer.update("pdf")
    notes = person.last.offers[0].notes
    assert notes[0] == "tests of the new version: 19 passed, 1 failed"
    assert "links to format.md, which does not exist" in notes[1]
