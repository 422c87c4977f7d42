"""SkillContextProvider: what each request of a conversation is given."""

import json
import os
from dataclasses import dataclass

import pytest

from skillkit import SkillManager
from skillkit.core.authority import DefaultAuthority
from skillkit.core.availability import Refusal
from skillkit.core.exceptions import ConfigurationError
from skillkit.disclosure import Origin, SkillContextProvider, SkillSession, Tool
from skillkit.disclosure.tool_gate import Admission
from skillkit.matching import SkillMatcher
from skillkit.matching.request import Request

GREETING = "Say bonjour to Alice"


def names(tools):
    return [tool.name for tool in tools]


async def test_a_request_that_needs_no_skill_carries_no_body(library, provide):
    disclosed = await provide().before_request("What is 2+2?")
    assert disclosed.matched == disclosed.notes == disclosed.active == ()
    assert disclosed.insertions == ()
    assert disclosed.everything == disclosed.instructions
    assert "# How to" not in disclosed.instructions


async def test_a_match_puts_the_body_into_the_request_and_says_why(library, provide):
    disclosed = await provide().before_request([{"role": "user", "content": GREETING}])
    assert [match.skill.name for match in disclosed.matched] == ["hello"]
    assert any("bonjour" in reason for reason in disclosed.matched[0].reasons)
    assert "# How to greet" in disclosed.everything
    assert "# How to read markets" not in disclosed.everything
    assert disclosed.tokens.skills > 0
    assert disclosed.tokens.total == sum(
        (disclosed.tokens.catalogue, disclosed.tokens.skills, disclosed.tokens.note, disclosed.tokens.tools)
    )
    assert disclosed.tokens.to_data()["total"] == disclosed.tokens.total


async def test_the_sync_twin_gives_the_same(library, provide):
    provider = provide()
    session = SkillSession()
    assert (
        provider.disclose(GREETING, session).everything
        == (await provider.before_request(GREETING, session)).everything
    )


async def test_an_active_skill_stays_to_the_byte_on_following_turns(library, provide):
    provider = provide()
    first = await provider.before_request(GREETING)
    second = await provider.before_request("And now somebody else please")
    assert second.matched == ()
    assert second.active == ("hello",)
    assert second.everything == first.everything


async def test_a_loaded_skill_is_not_repeated_when_it_matches_later(library, provide):
    provider = provide()
    answer = (await provider.tools()[0].call({"skill_id": "hello"})).text
    disclosed = await provider.before_request(GREETING)
    assert "# How to greet" in answer
    assert "# How to greet" not in disclosed.everything
    assert disclosed.active == ("hello",)
    assert provider.session.active[0].origin is Origin.LOADED


async def test_loaded_text_that_was_compacted_away_comes_back(library, provide):
    provider = provide()
    answer = (await provider.tools()[0].call({"skill_id": "hello"})).text
    history = [{"role": "tool", "content": answer}, {"role": "user", "content": "Go on"}]
    kept = await provider.before_request(history, whole_history=True)
    assert "# How to greet" not in kept.everything
    back = await provider.before_request(history[1:], whole_history=True)
    assert "# How to greet" in back.everything
    assert "already_active" in (await provider.tools()[0].call({"skill_id": "hello"})).text


async def test_the_cap_is_explained_when_it_cuts(write_skill, provide):
    for name in ("one", "two", "three"):
        write_skill(name, f"# Body of {name}\n", triggers="[zebra]")
    disclosed = await provide(max_skills=1).before_request("Where is the zebra?")
    assert len(disclosed.matched) == 1
    assert len(disclosed.left_out) == 2
    assert disclosed.everything.count("# Body of") == 1
    note = disclosed.notes[0]
    assert "limit of 1" in note
    assert all(match.skill.name in note for match in disclosed.left_out)
    assert note in disclosed.everything


async def test_no_matching_when_the_limit_is_zero(library, provide):
    disclosed = await provide(max_skills=0).before_request(GREETING)
    assert disclosed.matched == ()
    assert "# How to" not in disclosed.everything


async def test_long_conversations_put_the_oldest_skill_aside_and_say_so(write_skill, provide):
    for name in ("one", "two", "three"):
        write_skill(name, f"# Body of {name}\n", triggers=f"[word{name}]")
    provider = provide(max_skills=1, max_active=2)
    for name in ("one", "two", "one"):
        await provider.before_request(f"a word{name} please")
    disclosed = await provider.before_request("a wordthree please")
    assert disclosed.active == ("one", "three")
    assert "Put aside to make space: <id>two</id>." in disclosed.everything


async def test_no_skills_no_words_no_tools(provide):
    disclosed = await provide().before_request("Hello")
    assert disclosed.everything == ""
    assert disclosed.tools == ()
    assert disclosed.tokens.total == 0


async def test_tools_are_disclosed_only_when_there_is_something_to_use_them_on(library, write_skill, provide):
    assert names(provide().tools()) == ["load_skill", "read_skill_resource"]
    assert names(provide(budget=50).tools()) == ["load_skill", "read_skill_resource", "search_skills"]


async def test_the_list_and_the_tools_are_the_same_bytes_in_every_turn(library, provide):
    provider, session = provide(), SkillSession()
    turns = [
        await provider.before_request(request, session)
        for request in ("Hi there", GREETING, "What is 2+2?", "/hello Bob", "Thanks", "prices of markets")
    ]
    assert {turn.instructions for turn in turns} == {turns[0].instructions}
    schemas = {json.dumps([[tool.name, tool.parameters] for tool in turn.tools]) for turn in turns}
    assert len(schemas) == 1


class Extra:
    """A source of tools that depends on what is active."""

    def tools(self, session):
        async def run():
            return session.active_ids

        async def other():
            return "never reached"

        if not session.active:
            return []
        return [Tool("script_run", "Runs", {}, run), Tool("load_skill", "Another", {}, other)]


async def test_higher_layers_add_tools_and_a_collision_keeps_the_first(library, provide, caplog):
    provider = provide(tool_sources=[Extra()])
    assert names((await provider.before_request("Hi there")).tools) == ["load_skill", "read_skill_resource"]
    disclosed = await provider.before_request(GREETING)
    assert names(disclosed.tools) == ["load_skill", "read_skill_resource", "script_run"]
    assert (await disclosed.tools[2].call({})).data == ("hello",)
    assert "Tool name collision: 'load_skill'" in caplog.text


async def test_the_list_stays_for_the_whole_conversation_and_what_is_new_is_said(
    library, provide, write_skill
):
    provider = provide()
    first = await provider.before_request("Hi")
    write_skill("weather", description="Tells the weather")
    provider.manager.refresh()
    for _ in range(2):
        changed = await provider.before_request("Hi")
        assert changed.instructions == first.instructions
        assert changed.note == (
            "<skill_note>\nSkills that are new:\n- weather: Tells the weather\n</skill_note>"
        )
    assert "weather" in (await provider.before_request("Hi", SkillSession())).instructions


async def test_a_skill_that_is_gone_is_let_go_and_it_is_said(library, provide):
    provider = provide()
    await provider.before_request(GREETING)
    os.remove(library / "SKILL.md")
    provider.manager.refresh()
    disclosed = await provider.before_request("Next")
    assert disclosed.active == ()
    assert "Skills that are gone: <id>hello</id>." in disclosed.everything
    assert (
        "Skill <id>hello</id> is no longer available (not_found); do not follow it any more."
        in disclosed.notes
    )


async def test_trust_that_is_withdrawn_ends_the_activation(library, skills_dir):
    refused = set()

    class Withdrawn(DefaultAuthority):
        def offer_refusal(self, skill, requester):
            return Refusal("untrusted", "not trusted") if skill.name in refused else None

    provider = SkillContextProvider(SkillManager(project_skill_dir=skills_dir, authority=Withdrawn()))
    await provider.tools()[0].call({"skill_id": "markets"})
    await provider.before_request(GREETING)
    refused.update(("hello", "markets"))
    disclosed = await provider.before_request("Go on")
    assert disclosed.active == ()
    assert "# How to" not in disclosed.everything
    assert sum("(untrusted)" in note for note in disclosed.notes) == 2


async def test_a_matched_skill_that_cannot_be_read_costs_the_others_nothing(library, provide, write_skill):
    write_skill("broken", triggers="[bonjour]")
    provider = provide()
    provider.manager.discover()
    os.remove(library.parent / "broken" / "SKILL.md")
    disclosed = await provider.before_request(GREETING)
    assert [match.skill.name for match in disclosed.matched] == ["hello"]
    assert "Skill <id>broken</id> cannot be used: read_error." in disclosed.notes


@pytest.mark.parametrize("options", [{"fallback": "sometimes"}, {"max_skills": -1}])
def test_settings_that_mean_nothing_are_refused(provide, options):
    with pytest.raises(ConfigurationError):
        provide(**options)


async def test_the_user_starts_a_skill_with_its_name_and_arguments(write_skill, provide):
    write_skill("deploy", "Deploy to $ARGUMENTS.\n", disable_model_invocation="true")
    provider = provide()
    assert (await provider.before_request("please deploy it")).active == ()
    disclosed = await provider.before_request("/deploy production now")
    assert disclosed.active == ("deploy",)
    assert "Deploy to production now." in disclosed.everything
    following = await provider.before_request("Done?")
    assert "Deploy to production now." in following.everything
    assert names(following.tools) == ["read_skill_resource"]


async def test_a_skill_that_is_not_for_users_to_start_is_refused(write_skill, provide):
    write_skill("inner", user_invocable="false")
    disclosed = await provide().before_request("/inner now")
    assert '<error code="disabled">' in disclosed.note
    assert disclosed.active == ()


@pytest.mark.parametrize("request_text", ["/unknown x", "/etc/passwd", "$5 are enough", "/", ""])
async def test_what_only_looks_like_a_command_is_a_request(library, provide, request_text):
    assert (await provide().before_request(request_text)).insertions == ()


async def test_conversations_do_not_mix(library, provide):
    provider = provide()
    one, two = SkillSession(), SkillSession()
    await provider.before_request(GREETING, one)
    disclosed = await provider.before_request("What is 2+2?", two)
    assert one.active_ids == ("hello",)
    assert disclosed.active == two.active_ids == provider.session.active_ids == ()
    assert "already_active" not in (await provider.tools(two)[0].call({"skill_id": "hello"})).text
    assert "already_active" in (await provider.tools(one)[0].call({"skill_id": "hello"})).text


async def test_a_saved_conversation_goes_on_where_it_was(library, provide):
    provider, session = provide(), SkillSession()
    before = await provider.before_request(GREETING, session)
    saved = json.dumps(session.to_data())
    restored = SkillSession.from_data(json.loads(saved))
    after = await provide().before_request("Go on", restored)
    assert after.everything == before.everything
    assert after.notes == ()


async def test_a_repeated_request_is_matched_once(library, provide, monkeypatch):
    read = []

    def parse(text):
        read.append(text)
        return parsed(text)

    parsed = Request.parse
    monkeypatch.setattr(Request, "parse", parse)
    provider = provide()
    for request in ("a", "a", "b"):
        await provider.before_request(request)
    assert read == ["a", "b"]


@dataclass
class Message:
    role: str
    text: str


async def test_only_the_latest_message_of_the_user_is_matched(library, provide):
    history = [Message("user", GREETING), Message("assistant", "Bonjour"), Message("user", "What is 2+2?")]
    assert (await provide().before_request(history)).matched == ()
    assert (await provide().before_request(history[:2])).matched != ()
    assert (await provide().before_request([Message("assistant", GREETING)])).matched == ()
    assert (await provide().before_request([])).matched == ()


async def test_the_tiers_one_by_one(library, provide, manager):
    (library / "references").mkdir()
    (library / "references" / "names.md").write_text("Alice")
    (library / "logo.bin").write_bytes(b"\0\1")
    provider = provide(style="location")
    assert f"<location>{library / 'SKILL.md'}</location>" in provider.tier1_context()
    assert await provider.tier2_context("Hello") == manager.invoke_skill("hello")
    assert await provider.tier3_resource_list("hello", "references") == ["references/names.md"]
    assert await provider.tier3_resource_list("hello", "scripts") == []
    assert await provider.tier3_resource_list("hello") == ["logo.bin", "references/names.md"]
    assert await provider.tier3_resource("hello", "references/names.md") == "Alice"
    assert provider.get_skill("hello").name == "hello"
    assert provider.get_skill_names() == ["hello", "markets"]


async def test_what_a_tier_does_not_have_is_none(library, provide, tmp_path):
    (library / "logo.bin").write_bytes(b"\0\1")
    (library / "link").symlink_to(tmp_path)
    provider = provide()
    assert provider.get_skill("nope") is None
    assert await provider.tier2_context("nope") is None
    assert await provider.tier3_resource_list("nope", "scripts") == []
    assert await provider.tier3_resource("nope", "x") is None
    for path in ("missing.md", "../markets/SKILL.md", "/etc/passwd", "link", "logo.bin"):
        assert await provider.tier3_resource("hello", path) is None
    os.remove(library / "SKILL.md")
    assert await provider.tier2_context("hello") is None
    with pytest.raises(ConfigurationError, match="no kind of resource"):
        await provider.tier3_resource_list("hello", "secrets")


async def test_a_long_resource_is_read_whole(library, provide):
    text = "é0123456789" * 150_000
    (library / "long.txt").write_text(text, encoding="utf-8")
    assert await provide().tier3_resource("hello", "long.txt") == text


async def test_a_newly_matched_skill_is_rendered_once(library, provide, monkeypatch):
    rendered = []
    invoke = SkillManager.invoke_skill

    def counted(self, name, arguments="", **settings):
        rendered.append(name)
        return invoke(self, name, arguments, **settings)

    monkeypatch.setattr(SkillManager, "invoke_skill", counted)
    disclosed = await provide().before_request(GREETING)
    assert rendered == ["hello"]
    assert "# How to greet" in disclosed.everything


class MatcherOfAnotherTenant(SkillMatcher):
    """Answers from the library that another conversation has put into it meanwhile."""

    def update(self, skills):
        super().update(OTHERS)


OTHERS: list[object] = []


def test_no_skill_of_another_tenant_is_matched_or_named(library, provide, tmp_path):
    secret = tmp_path / "others" / "secret-greeting"
    secret.mkdir(parents=True)
    (secret / "SKILL.md").write_text(
        "---\nname: secret-greeting\ndescription: Say bonjour to Alice\n---\nX\n"
    )
    others = SkillManager(project_skill_dir=secret.parent, anthropic_config_dir="")
    others.discover()
    OTHERS[:] = others.list_skills()
    provider = provide(matcher=MatcherOfAnotherTenant())
    disclosed = provider.disclose(GREETING, SkillSession())
    assert disclosed.matched == disclosed.left_out == ()
    assert "secret-greeting" not in disclosed.everything
    assert provider.near(GREETING, SkillSession()) == ()


async def test_a_gate_that_fails_lets_a_tool_ask(library, provide, caplog):
    class Broken:
        def admit(self, tool, skills):
            raise RuntimeError("no gate")

    provider = provide()
    provider.gate = Broken()
    assert provider.admit("search_web", provider.session) is Admission.FREE
    await provider.before_request([{"role": "user", "content": GREETING}])
    assert provider.admit("search_web", provider.session) is Admission.ASKS
    assert "could not be decided" in caplog.text


def test_the_list_that_a_conversation_sees_can_be_asked_for(library, provide):
    provider = provide()
    shown = provider.catalogue()
    assert "hello" in shown
    session = SkillSession()
    session.catalogue, session.catalogue_digest = "as it was", "digest"
    assert provider.catalogue(session) == "as it was"
