"""policy.json: what a team allows holds, whatever the user approved and whatever a skill wrote."""

import json
from pathlib import Path

import pytest

from skillkit import SkillManager
from skillkit.core.authority import Requester, TrustEverySkill
from skillkit.core.digest import tree_digest
from skillkit.core.grants import Grants
from skillkit.core.models import SecretRequest, SkillMetadata
from skillkit.install.enabled import EnabledSkills
from skillkit.install.installer import SkillInstaller
from skillkit.install.team_policy import TeamAuthority

NOBODY = Requester()


@pytest.fixture
def skills(skills_dir: Path, write_skill) -> dict[str, SkillMetadata]:
    for name in ("acme-pdf", "pdf", "old-report"):
        write_skill(name)
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="")
    manager.discover()
    return {skill.name: skill for skill in manager.list_skills()}


def write_policy(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    path.chmod(0o644)
    return path


def allowed(tmp_path: Path, skills: dict[str, SkillMetadata], *, system: Path | None = None) -> set[str]:
    """The skills of which everything is allowed; of the others nothing is."""
    authority = TeamAuthority(TrustEverySkill(), tmp_path / "home", system=system or tmp_path / "none")
    found = set()
    for name, skill in skills.items():
        digest = tree_digest(skill.base_dir).digest
        said = {
            authority.offer_refusal(skill, NOBODY) is None,
            authority.import_refusal(skill, digest, NOBODY) is None,
            authority.grants(skill, digest, NOBODY).run,
        }
        assert len(said) == 1
        found |= {name} if said.pop() else set()
    return found


def test_without_a_policy_nothing_is_different(tmp_path: Path, skills) -> None:
    assert allowed(tmp_path, skills) == {"acme-pdf", "pdf", "old-report"}


def test_names_patterns_and_digests_are_allowed_and_denied(tmp_path: Path, skills) -> None:
    digest = tree_digest(skills["pdf"].base_dir).digest
    policy = tmp_path / "home" / "policy.json"
    write_policy(policy, {"version": 1, "deny": [{"skill": "Old_*"}]})
    assert allowed(tmp_path, skills) == {"acme-pdf", "pdf"}
    write_policy(policy, {"version": 1, "allow": [{"skill": "acme-*"}, {"skill": "pdf", "digest": digest}]})
    assert allowed(tmp_path, skills) == {"acme-pdf", "pdf"}
    (skills["pdf"].base_dir / "more.md").write_text("other bytes")
    assert allowed(tmp_path, skills) == {"acme-pdf"}
    write_policy(policy, {"version": 1, "allow": []})
    assert allowed(tmp_path, skills) == set()


def test_every_policy_has_to_agree(tmp_path: Path, skills) -> None:
    write_policy(tmp_path / "home" / "policy.json", {"version": 1, "deny": [{"skill": "pdf"}]})
    system = write_policy(tmp_path / "etc" / "policy.json", {"version": 1, "allow": [{"skill": "*pdf"}]})
    assert allowed(tmp_path, skills, system=system) == {"acme-pdf"}


@pytest.mark.parametrize(
    "content",
    [
        "garbage",
        "",
        {"allow": []},
        {"version": 99},
        {"version": 1, "alow": []},
        {"version": 1, "deny": [{"name": "pdf"}]},
        {"version": 1, "deny": [{}]},
        {"version": 1, "deny": [{"skill": 1}]},
        {"version": 1, "deny": "pdf"},
    ],
)
def test_a_policy_that_cannot_be_understood_denies_everything_and_says_so(
    tmp_path: Path, skills, content: object
) -> None:
    policy = write_policy(tmp_path / "home" / "policy.json", content)
    assert allowed(tmp_path, skills) == set()
    authority = TeamAuthority(TrustEverySkill(), tmp_path / "home", system=tmp_path / "none")
    refused = authority.offer_refusal(skills["pdf"], NOBODY)
    assert refused is not None
    assert str(policy) in refused.reason


def test_a_policy_that_others_may_write_is_none(tmp_path: Path, skills) -> None:
    write_policy(tmp_path / "home" / "policy.json", {"version": 1}).chmod(0o666)
    assert allowed(tmp_path, skills) == set()


def test_the_user_cannot_approve_what_the_team_denies(tmp_path: Path, write_skill, monkeypatch) -> None:
    monkeypatch.setenv("AGENT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    SkillInstaller(consent=lambda proposal: True).add(str(write_skill("pdf")))
    write_policy(tmp_path / "home" / "policy.json", {"version": 1, "deny": [{"skill": "pdf"}]})
    for words in ("all", "all-untrusted", "pdf"):
        enabled = EnabledSkills(bundled=False, environment={"AGENT_SKILLS": words})
        assert enabled.manager.offered_skills() == []
        [status] = [each for each in enabled.report().skills if each.skill.name == "pdf"]
        assert not status.active
        assert status.refusal is not None
        assert "denied by the policy" in status.refusal.reason


@pytest.mark.parametrize(
    ("rules", "kept"),
    [
        ({"allow": [{"host": "*.acme.com"}]}, ("api.acme.com", "*.eu.acme.com")),
        ({"deny": [{"host": "api.acme.com"}]}, ("*.eu.acme.com", "example.org:8443")),
        ({"deny": [{"host": "x.eu.acme.com"}]}, ("api.acme.com", "example.org:8443")),
        ({"deny": [{"host": "*"}]}, ()),
    ],
)
def test_scripts_reach_only_hosts_that_the_team_wants(tmp_path: Path, skills, rules, kept) -> None:
    class Generous(TrustEverySkill):
        def grants(self, skill, digest, requester):
            hosts = ("api.acme.com", "*.eu.acme.com", "example.org:8443")
            return Grants(network=True, hosts=hosts, secrets=(SecretRequest("KEY", hosts),))

    write_policy(tmp_path / "home" / "policy.json", {"version": 1, **rules})
    authority = TeamAuthority(TrustEverySkill(), tmp_path / "home", system=tmp_path / "none").around(
        Generous()
    )
    assert authority.offer_refusal(skills["pdf"], NOBODY) is None
    granted = authority.grants(skills["pdf"], "sha256:0", NOBODY)
    assert (granted.run, granted.network, granted.hosts) == (True, False, kept)
    assert granted.secrets == ((SecretRequest("KEY", kept),) if kept else ())


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_policy_that_others_may_write_allows_nothing(tmp_path: Path, skills, mode: int) -> None:
    policy = write_policy(tmp_path / "home" / "policy.json", {"version": 1, "deny": []})
    assert allowed(tmp_path, skills) == {"acme-pdf", "pdf", "old-report"}
    policy.chmod(mode)
    assert allowed(tmp_path, skills) == set()
