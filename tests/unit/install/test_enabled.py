"""AGENT_SKILLS, what was enabled, and trust decide what is active."""

from pathlib import Path

import pytest
from skill_repositories import skill_text

from skillkit.core.authority import Requester
from skillkit.core.digest_memo import tree_digests
from skillkit.core.exceptions import ConfigurationError
from skillkit.install.authority import Level
from skillkit.install.enabled import EnabledSkills
from skillkit.install.exceptions import ConsentError
from skillkit.install.installer import SkillInstaller
from skillkit.install.proposal import Proposal
from skillkit.install.selection import Selection
from skillkit.install.store import SkillStore
from skillkit.install.tree import TreeLimits
from skillkit.scripts.catalogue import find_scripts


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("AGENT_HOME", str(tmp_path / "home"))
    return folder


def write(folder: Path, name: str, **fields: str) -> Path:
    path = folder / name
    path.mkdir(parents=True)
    (path / "SKILL.md").write_text(skill_text(name, **fields))
    return path


def installer() -> SkillInstaller:
    return SkillInstaller(consent=lambda proposal: True)


def active(value: str | None, **options: object) -> list[str]:
    environment = {} if value is None else {"AGENT_SKILLS": value}
    enabled = EnabledSkills(bundled=False, environment=environment, **options)
    return sorted(status.skill.name for status in enabled.report().active)


@pytest.mark.parametrize(
    ("text", "mode", "names"),
    [
        (None, "none", set()),
        ("", "none", set()),
        (" None ", "none", set()),
        ("ALL", "all", set()),
        ("all-untrusted", "all-untrusted", set()),
        ("Kalshi-Markets, hello_extended,", "names", {"kalshi-markets", "hello-extended"}),
        (",", "none", set()),
    ],
)
def test_the_words_of_agent_skills(text: str | None, mode: str, names: set[str]) -> None:
    selection = Selection.parse(text)
    assert (selection.mode, set(selection.names)) == (mode, names)
    assert Selection.parse(str(selection)) == selection


@pytest.mark.parametrize("text", ["all,pdf", "pdf, None", "all-untrusted,all"])
def test_a_word_for_all_or_none_stands_alone(text: str) -> None:
    with pytest.raises(ConfigurationError, match="must be the only value"):
        Selection.parse(text)


def test_installed_and_approved_skills_are_active_when_they_are_selected(
    project: Path, tmp_path: Path
) -> None:
    installer().add(str(write(tmp_path / "a", "Pdf_Reader")))
    installer().add(str(write(tmp_path / "b", "xls")))
    assert active(None) == active("") == active("none") == []
    assert active("all") == ["Pdf_Reader", "xls"]
    assert active("PDF-reader") == ["Pdf_Reader"]
    installer().revoke("xls")
    assert active("all") == ["Pdf_Reader"]
    assert active("xls") == []
    assert active("all-untrusted") == ["Pdf_Reader", "xls"]


def test_a_project_skill_needs_one_consent_per_digest(project: Path) -> None:
    folder = write(project / "skills", "helper")
    assert active("all") == active("helper") == []
    enabled = EnabledSkills(bundled=False, environment={"AGENT_SKILLS": "all"})
    assert enabled.report().hint.startswith("No trusted skills installed.")
    skill = enabled.manager.get_skill("helper")
    refusal = enabled.manager.refusal(skill)
    assert refusal is not None
    assert refusal.code == "untrusted"
    assert refusal.reason.endswith("Look at it and approve it with: agent skill trust helper")
    assert refusal.remedy == "agent skill trust helper"
    assert enabled.manager.offered_skills() == []
    digest = installer().trust_folder(skill)
    assert active("all") == ["helper"]
    assert enabled.manager.offered_skills() == [skill], "a running program sees the consent"
    (folder / "extra.md").write_text("more")
    assert active("all") == []
    assert enabled.manager.offered_skills() == [], "and its end"
    (folder / "extra.md").unlink()
    assert active("all") == ["helper"]
    assert installer().revoke_folder(digest)
    assert active("all") == []


def test_changed_bytes_of_an_installed_skill_end_its_trust(project: Path, tmp_path: Path) -> None:
    installer().add(str(write(tmp_path / "a", "pdf")))
    enabled = EnabledSkills(bundled=False, environment={"AGENT_SKILLS": "all"})
    assert len(enabled.manager.offered_skills()) == 1
    path = tmp_path / "home" / "skills" / "pdf" / "SKILL.md"
    path.chmod(0o644)
    path.write_text(skill_text("pdf", body="Evil."))
    assert enabled.manager.offered_skills() == []
    assert active("all") == []
    assert active("all-untrusted") == ["pdf"]


ASKS = "{env: [API_KEY], network: true, hosts: [api.example.com], secrets: {KEY: {hosts: [api.example.com]}}}"
NOBODY = Requester()


def levels(value: str = "all") -> dict[str, tuple[Level, bool]]:
    """The level of each skill, and whether its header's wishes and its code are granted."""
    enabled = EnabledSkills(bundled=False, environment={"AGENT_SKILLS": value})
    found = {}
    for skill in enabled.manager.list_skills():
        digest = tree_digests.plain(skill.base_dir).digest
        grants = enabled.team.grants(skill, digest, NOBODY)
        granted = bool(grants.env or grants.network or grants.hosts or grants.secrets)
        imports = enabled.team.import_refusal(skill, digest, NOBODY) is None
        assert granted == imports
        found[skill.name] = (enabled.authority.trust(skill).level, granted)
    return found


def test_a_folder_where_other_programs_install_offers_a_skill_and_grants_nothing(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / ".claude" / "skills", "theirs", permissions=ASKS)
    write(tmp_path / ".agents" / "skills" / "group", "deeper", permissions=ASKS)
    write(tmp_path / "home" / "skills", "placed", permissions=ASKS)
    write(tmp_path / ".cursor" / "skills", "linked", permissions=ASKS)
    (tmp_path / "home" / "skills" / "linked").symlink_to(tmp_path / ".cursor" / "skills" / "linked")
    offered = (Level.OFFERED, False)
    wanted = {"theirs": offered, "deeper": offered, "linked": offered, "placed": (Level.GRANTED, True)}
    assert levels() == wanted
    assert active("all") == sorted(wanted)
    assert active("theirs") == ["theirs"]
    assert active("none") == []
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "skills", "cloned", permissions=ASKS)
    assert levels() == wanted | {"cloned": (Level.FOUND, False)}, "even when somebody works in his home"
    assert active("all") == sorted(wanted)


def test_consent_to_the_digest_grants_in_any_folder_until_a_byte_changes(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = write(tmp_path / ".agents" / "skills", "theirs", permissions=ASKS)
    enabled = EnabledSkills(bundled=False, environment={"AGENT_SKILLS": "all"})
    installer().trust_folder(enabled.manager.get_skill("theirs"))
    assert levels() == {"theirs": (Level.GRANTED, True)}
    (folder / "more.md").write_text("x")
    assert levels() == {"theirs": (Level.OFFERED, False)}
    assert active("all") == ["theirs"]


def test_adopting_consents_to_many_with_one_question(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / ".agents" / "skills", "one", permissions=ASKS)
    write(tmp_path / ".claude" / "skills", "two", permissions=ASKS)
    write(project / ".claude" / "skills", "cloned", permissions=ASKS)
    asked: list[Proposal] = []
    adopted = SkillInstaller(consent=lambda proposal: not asked.append(proposal)).adopt(project)
    assert [sorted(offer.name for offer in proposal.offers) for proposal in asked] == [["one", "two"]]
    assert sorted(path.name for path in adopted.approved) == ["one", "two"]
    granted = (Level.GRANTED, True)
    assert levels() == {"one": granted, "two": granted, "cloned": (Level.FOUND, False)}
    assert not SkillInstaller(consent=lambda proposal: not asked.append(proposal)).adopt(project).approved
    assert len(asked) == 1


def test_an_adoption_that_is_declined_grants_nothing(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / ".agents" / "skills", "one", permissions=ASKS)
    with pytest.raises(ConsentError):
        SkillInstaller(consent=lambda proposal: False).adopt(project)
    assert levels() == {"one": (Level.OFFERED, False)}


def test_a_skill_installed_under_another_name_answers_to_that_name(project: Path, tmp_path: Path) -> None:
    installer().add(str(write(tmp_path / "a", "pdf")))
    installer().add(str(write(tmp_path / "b", "pdf", license="MIT")), name="pdf-two")
    assert active("all") == ["pdf", "pdf-two"]
    enabled = EnabledSkills(bundled=False, environment={"AGENT_SKILLS": "pdf-two"})
    assert enabled.manager.get_skill("pdf-two").license == "MIT"
    assert [skill.name for skill in enabled.manager.offered_skills()] == ["pdf-two"]


def test_what_was_enabled_counts_where_the_variable_is_not_set(project: Path, tmp_path: Path) -> None:
    installer().add(str(write(tmp_path / "a", "pdf")))
    with installer().registry.transaction() as state:
        state.selection = "pdf"
    assert active(None) == ["pdf"]
    assert active("") == []


def test_the_report_tells_counts_failures_and_hints(project: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "a", "pdf", toolsets="[tools.x:Y]", scripts_ignore="['_*']")
    (folder / "SKILL.md").write_text(
        "---\nname: pdf\ndescription: d\ntoolsets: [tools.x:Y]\nscripts_ignore: ['_*']\n---\n"
    )
    (folder / "scripts").mkdir()
    for name in ("run.py", "_private.py", "notes.txt", ".hidden.py"):
        (folder / "scripts" / name).write_text("x")
    installer().add(str(folder))
    bad = project / "skills" / "bad"
    bad.mkdir(parents=True)
    (bad / "SKILL.md").write_text("---\nname: [\n---\n")
    report = EnabledSkills(bundled=False, environment={}).report()
    [status] = report.skills
    assert [script.name for script in find_scripts(status.skill)] == ["run"]
    assert (status.skill.toolsets, status.active) == (("tools.x:Y",), False)
    assert report.hint == "Skill 'pdf' is not active. To enable: agent skill enable pdf"
    assert [found.path for found in report.failed] == [bad / "SKILL.md"]
    missing = EnabledSkills(bundled=False, environment={"AGENT_SKILLS": "pdf,ghost"}).report()
    assert missing.hint == "AGENT_SKILLS names skills that were not found: ghost"
    write(project / "skills", "other")
    untrusted = EnabledSkills(bundled=False, environment={"AGENT_SKILLS": "pdf"}).report()
    assert untrusted.hint.endswith("To enable: export AGENT_SKILLS=other,pdf && agent skill trust other")
    installer().trust_folder(EnabledSkills(bundled=False).manager.get_skill("other"))
    assert EnabledSkills(bundled=False, environment={"AGENT_SKILLS": "all"}).report().hint == ""


def test_all_without_a_trusted_skill_says_how_to_get_one(project: Path) -> None:
    hint = (
        "No trusted skills installed. Install skills with 'agent skill add' or use AGENT_SKILLS=all-untrusted"
    )
    wanted = {"AGENT_SKILLS": "all"}
    assert EnabledSkills(bundled=False, environment=wanted).report().hint == hint
    write(project / "skills", "stranger")
    report = EnabledSkills(bundled=False, environment=wanted).report()
    assert (report.hint, report.active) == (hint, ())
    assert active("all-untrusted") == ["stranger"]


def test_trust_decides_what_scripts_and_toolsets_get(project: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "a", "pdf")
    (folder / "SKILL.md").write_text(
        "---\nname: pdf\ndescription: d\npermissions: {env: [API_KEY], network: true}\n---\n"
    )
    [record] = installer().add(str(folder))
    enabled = EnabledSkills(bundled=False, environment={"AGENT_SKILLS": "all-untrusted"})
    skill = enabled.manager.get_skill("pdf")
    authority, nobody = enabled.authority, Requester()
    assert authority.import_refusal(skill, record.digest, nobody) is None
    assert authority.import_refusal(skill, "sha256:other", nobody) is not None
    granted = authority.grants(skill, record.digest, nobody)
    assert (granted.env, granted.network) == (("API_KEY",), True)
    installer().revoke("pdf")
    held = authority.grants(skill, record.digest, nobody)
    assert (held.env, held.withheld_env, held.network) == ((), ("API_KEY",), False)
    assert authority.import_refusal(skill, record.digest, nobody) is not None


def test_a_project_skill_that_cannot_be_hashed_cannot_be_approved(project: Path) -> None:
    folder = write(project / "skills", "linked")
    (folder / "link").symlink_to("/etc/passwd")
    enabled = EnabledSkills(bundled=False, environment={"AGENT_SKILLS": "all"})
    trust = enabled.authority.trust(enabled.manager.get_skill("linked"))
    assert not trust.trusted
    assert "cannot be approved" in trust.reason


def test_a_skill_that_was_allowed_to_be_large_is_judged_all_the_same(project: Path, tmp_path: Path) -> None:
    large = write(tmp_path / "a", "large")
    for number in range(600):
        (large / f"{number}.md").write_text("x")
    SkillInstaller(consent=lambda proposal: True, limits=TreeLimits(max_files=700)).add(str(large))
    assert active("all") == ["large"]
    (large / "SKILL.md").write_text(skill_text("other"))
    large.rename(project / "skills-large")
    (project / "skills").mkdir()
    (project / "skills-large").rename(project / "skills" / "other")
    installer().trust_folder(EnabledSkills(bundled=False).manager.get_skill("other"))
    assert active("all") == ["large", "other"]


def test_skills_that_were_put_beside_installed_ones_by_hand_are_judged_each_by_itself(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        write(tmp_path / "home" / "skills", f"own-{number}")
    enabled = EnabledSkills(bundled=False, environment={"AGENT_SKILLS": "all"})
    looked: list[str] = []
    linked = SkillStore.linked
    monkeypatch.setattr(SkillStore, "linked", lambda store, name: looked.append(name) or linked(store, name))
    assert len(enabled.report().active) == 30
    assert len(looked) <= 3 * 30
