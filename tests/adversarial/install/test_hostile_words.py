"""Names, texts and locks of strangers are read as data."""

import json
from pathlib import Path

import pytest
from installing import nothing_left
from skill_repositories import Repository, skill_text

from skillkit.install.exceptions import (
    ConsentError,
    InstallError,
    LockFileError,
    NameConflictError,
)
from skillkit.install.installer import SkillInstaller
from skillkit.install.proposal import PresetAnswers, Proposal


def test_hostile_text_is_escaped_in_everything_that_is_shown(repository: Repository, home: Path) -> None:
    repository.commit(
        {"SKILL.md": skill_text("loud", description=r'"Nice \e]0;title\a \u202e"', body="\x1b[31mred\u200b")}
    )
    seen: list[Proposal] = []
    installer = SkillInstaller(home, consent=lambda proposal: bool(seen.append(proposal)) or True)
    installer.add(repository.url)
    repository.commit({"SKILL.md": skill_text("loud", body="\x1b[2Jgone\r\n\u202etxt")})
    installer.update("loud")
    assert "invisible" in dict(seen[0].offers[0].capabilities.facts())
    for line in (*seen[1].offers[0].diff, seen[0].offers[0].description):
        assert line.isprintable()


def test_without_anybody_to_ask_nothing_is_installed(repository: Repository, home: Path) -> None:
    commit = repository.commit({"SKILL.md": skill_text("quiet")})
    with pytest.raises(ConsentError):
        SkillInstaller(home).add(repository.url, ref=commit)
    with pytest.raises(ConsentError, match="nobody to ask"):
        SkillInstaller(home, consent=PresetAnswers(yes=True)).add(repository.url, ref="main")
    assert nothing_left(home)
    [skill] = SkillInstaller(home, consent=PresetAnswers(yes=True)).add(repository.url, ref=commit)
    assert skill.trusted


def test_a_name_that_is_taken_by_another_source_is_refused_with_both_named(
    repository: Repository, installer: SkillInstaller, tmp_path: Path
) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    impostor = Repository(tmp_path / "impostor.git")
    impostor.commit({"SKILL.md": skill_text("PDF", body="Evil.")})
    installer.add(repository.url)
    with pytest.raises(NameConflictError) as caught:
        installer.add(impostor.url)
    assert repository.url in str(caught.value)
    assert impostor.url in str(caught.value)
    [renamed] = installer.add(impostor.url, name="other-pdf")
    assert (renamed.name, renamed.declared_name) == ("other-pdf", "PDF")
    assert "name: PDF" in (tmp_path / "home" / "skills" / "other-pdf" / "SKILL.md").read_text()


@pytest.mark.parametrize("name", ["../evil", "registry.json", ".hidden", "a/b", "con:", "x" * 65, "ünïcode"])
def test_a_name_never_leads_out_of_the_store(
    name: str, repository: Repository, installer: SkillInstaller
) -> None:
    repository.commit({"SKILL.md": skill_text("fine")})
    with pytest.raises(InstallError):
        installer.add(repository.url, name=name)


def test_a_registry_that_names_a_place_outside_the_store_is_not_obeyed(
    repository: Repository, installer: SkillInstaller, home: Path, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "SKILL.md").write_text("precious")
    repository.commit({"SKILL.md": skill_text("fine")})
    [skill] = installer.add(repository.url)
    registry = home / "skills" / "registry.json"
    registry.write_text(registry.read_text().replace(skill.stored, "../../victim"))
    installer.remove("fine")
    assert (victim / "SKILL.md").read_text() == "precious"
    assert installer.registry.notices


# The lock of a stranger


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{",
        '{"version": 2, "skills": {}}',
        '{"version": 1, "skills": {"../x": {"skillkit": {}}}}',
        *(
            json.dumps({"version": 1, "skills": {"x": {"skillkit": {"source": source, "revision": commit}}}})
            for source, commit in [
                ({"kind": "folder", "folder": "/etc"}, None),
                ({"kind": "git", "url": "/etc"}, "0" * 40),
                ({"kind": "git", "url": "ext::sh -c true"}, "0" * 40),
                ({"kind": "git", "url": "--upload-pack=x"}, "0" * 40),
                ({"kind": "git", "url": "https://example.com/x"}, "main"),
                ({"kind": "git", "url": 5}, "0" * 40),
                ("https://example.com/x", "0" * 40),
            ]
        ),
        '{"version": 1, "skills": {"x": []}}',
        "[" * 100_000,
        " " * 5_000_000,
    ],
)
def test_a_lock_of_a_stranger_is_read_as_data_or_refused(
    content: str, installer: SkillInstaller, tmp_path: Path, home: Path
) -> None:
    lock = tmp_path / "skills-lock.json"
    lock.write_text(content)
    with pytest.raises(LockFileError):
        installer.sync(lock)
    assert nothing_left(home)
