"""One authority decides, and knows on whose behalf it is asked."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from skillkit import SkillManager
from skillkit.core.authority import (
    DefaultAuthority,
    PerTenantAuthority,
    Requester,
    TrustEverySkill,
    asking_for,
    current_requester,
    decide_offer,
)
from skillkit.core.availability import Refusal
from skillkit.core.grants import Grants
from skillkit.core.models import SkillMetadata
from skillkit.integrations.conversation import Conversation

ACME, OTHER = Requester("server", "1", "acme"), Requester("server", "2", "other")


@pytest.fixture
def manager(skills_dir: Path, write_skill) -> SkillManager:
    for name in ("pdf", "report"):
        write_skill(name, header=f"name: {name}\ndescription: Makes a {name}\npermissions: {{network: true}}")
    authority = PerTenantAuthority({"acme": ["PDF"], "staff": ["*"]}, TrustEverySkill())
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="", authority=authority)
    manager.discover()
    return manager


def offered(manager: SkillManager, requester: Requester | None) -> list[str]:
    with asking_for(requester):
        return [skill.name for skill in manager.offered_skills()]


class Unreachable(DefaultAuthority):
    def offer_refusal(self, skill: SkillMetadata, requester: Requester) -> Refusal | None:
        raise ConnectionError("the policy server is down")


def test_an_authority_that_raises_has_allowed_nothing(skills_dir: Path, write_skill) -> None:
    write_skill("pdf")
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="", authority=Unreachable())
    manager.discover()
    assert offered(manager, None) == []
    refusal = decide_offer(Unreachable(), manager.get_skill("pdf"), ACME)
    assert refusal is not None
    assert (refusal.code, "the policy server is down" in refusal.reason) == ("unavailable", True)


def test_each_tenant_is_offered_its_own_skills(manager: SkillManager) -> None:
    assert offered(manager, ACME) == ["pdf"]
    assert offered(manager, Requester(tenant="staff")) == ["pdf", "report"]
    assert offered(manager, OTHER) == offered(manager, None) == []


def test_importing_and_running_are_decided_by_tenant_too(manager: SkillManager) -> None:
    report = manager.get_skill("report")
    staff = Requester(tenant="staff")
    assert manager.authority.import_refusal(report, "sha256:0", staff) is None
    assert manager.authority.grants(report, "sha256:0", staff) == Grants(network=True)
    refused = manager.authority.import_refusal(report, "sha256:0", ACME)
    assert refused is not None
    assert refused.code == "not_found"
    assert not manager.authority.grants(report, "sha256:0", ACME).run


def test_the_base_is_asked_whoever_the_tenant_is(manager: SkillManager) -> None:
    pdf = manager.get_skill("pdf")
    careful = PerTenantAuthority({"acme": ["*"]}, DefaultAuthority())
    assert careful.offer_refusal(pdf, ACME) is None
    assert careful.import_refusal(pdf, "sha256:0", ACME) is not None
    assert careful.grants(pdf, "sha256:0", ACME) == Grants()


def test_the_requester_follows_tasks_and_ends_with_the_block() -> None:
    async def ask(requester: Requester) -> Requester:
        with asking_for(requester):
            await asyncio.sleep(0)
            return await asyncio.to_thread(current_requester)

    async def both() -> list[Requester]:
        return await asyncio.gather(ask(ACME), ask(OTHER))

    assert asyncio.run(both()) == [ACME, OTHER]
    with asking_for(ACME), asking_for(None):
        assert current_requester() == ACME
        with ThreadPoolExecutor(1) as threads:
            assert threads.submit(current_requester).result() == Requester()
    assert current_requester() == Requester()


def test_what_has_which_name_does_not_depend_on_who_searched(tmp_path: Path, write_skill) -> None:
    """A tenant that refreshes must not change what the others get under a name."""
    for folder in ("first", "second"):
        write_skill("pdf", f"Of the {folder}.", into=tmp_path / folder)

    class ByTenant(DefaultAuthority):
        def offer_refusal(self, skill, requester):
            refused = requester.tenant and skill.base_dir.parent.name == "first"
            return Refusal("untrusted", "not for tenants") if refused else None

    manager = SkillManager(
        project_skill_dir=tmp_path / "first",
        anthropic_config_dir="",
        additional_search_paths=[tmp_path / "second"],
        authority=ByTenant(),
    )
    with asking_for(ACME):
        manager.discover()
        assert manager.get_skill("pdf").base_dir.parent.name == "first"


async def test_conversations_of_two_tenants_see_and_load_their_own(manager: SkillManager) -> None:
    acme = Conversation(manager, requester=ACME)
    staff = Conversation(manager, requester=Requester(tenant="staff"))
    for _ in range(2):
        seen = await asyncio.gather(acme.adisclose("Make a report"), staff.adisclose("Make a report"))
        assert ["report" in disclosed.everything for disclosed in seen] == [False, True]
    loaded = await asyncio.gather(
        *(each.call("load_skill", {"skill_id": "report"}) for each in (acme, staff))
    )
    assert ['code="not_found"' in result.text for result in loaded] == [True, False]


def test_what_is_offered_follows_an_authority_and_requirements_of_the_moment(
    skills_dir: Path, write_skill, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("needy", header="name: needy\ndescription: Needs a key\nrequires: {env: [SOME_KEY]}")
    write_skill("plain", header="name: plain\ndescription: Needs nothing")
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="")
    manager.discover()
    monkeypatch.delenv("SOME_KEY", raising=False)
    assert offered(manager, None) == ["plain"]
    monkeypatch.setenv("SOME_KEY", "1")
    assert offered(manager, None) == ["needy", "plain"]
    monkeypatch.setattr(
        manager.authority, "offer_refusal", lambda skill, requester: Refusal("disabled", "no")
    )
    assert offered(manager, None) == []


@pytest.mark.parametrize(
    ("servers", "names"),
    [
        (None, ["codex", "needy"]),
        ((), []),
        (["github"], ["needy"]),
        (["github", "linear"], ["codex", "needy"]),
    ],
)
def test_a_skill_that_needs_a_server_is_offered_where_the_program_has_it(
    skills_dir: Path, write_skill, servers, names
) -> None:
    write_skill("needy", header="name: needy\ndescription: Needs a server\nrequires: {mcp: [github]}")
    write_skill("codex", description="Needs a server, says Codex' own file")
    folder = skills_dir / "codex" / "agents"
    folder.mkdir()
    (folder / "openai.yaml").write_text("dependencies:\n  tools:\n    - {type: mcp, value: linear}\n")
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="", mcp_servers=servers)
    manager.discover()
    assert offered(manager, None) == names
    for missing in {"codex", "needy"} - set(names):
        refusal = manager.refusal(manager.get_skill(missing))
        assert refusal is not None
        assert "which this program does not offer" in refusal.reason


def test_a_tenant_does_not_learn_why_a_skill_of_others_is_refused(manager: SkillManager) -> None:
    class Untrusting(DefaultAuthority):
        def offer_refusal(self, skill, requester):
            return Refusal("untrusted", "not approved")

    report = manager.get_skill("report")
    authority = PerTenantAuthority({"acme": ["pdf"], "staff": ["*"]}, Untrusting())
    assert authority.offer_refusal(report, ACME).code == "not_found"
    assert authority.offer_refusal(report, Requester(tenant="staff")).code == "untrusted"
    assert authority.offer_refusal(report, Requester()).code == "untrusted"
