"""What is said where nothing matched: the fallbacks, and the skills that are near."""

from skillkit.matching import SkillMatcher


async def test_fallback_none_adds_nothing(library, provide):
    assert (await provide(fallback="none").before_request("What is 2+2?")).insertions == ()


async def test_fallback_show_all_asks_for_a_review(library, provide):
    disclosed = await provide(fallback="show_all").before_request("What is 2+2?")
    assert disclosed.note.startswith("<skill_note>\nNo skill matched this request by itself.")
    assert "<available_skills>" not in disclosed.note


async def test_fallback_show_all_describes_what_the_catalogue_had_to_cut(write_skill, provide):
    for letter in "abcdefghijklmnopqrstuvwxyz":
        write_skill(f"plant-{letter}", description=f"Waters plant {letter} " + "with care " * 20)
    disclosed = await provide(fallback="show_all", budget=400).before_request("What is 2+2?")
    assert "Waters plant z" not in disclosed.instructions
    assert "Waters plant z" in disclosed.note


async def test_fallback_ask_user_names_the_nearest(library, provide):
    strict = SkillMatcher(mode="lexical", threshold=0.999)
    disclosed = await provide(fallback="ask_user", matcher=strict).before_request("What about people?")
    assert disclosed.matched == ()
    assert [match.skill.name for match in disclosed.candidates] == ["hello"]
    assert "the nearest: <id>hello</id>." in disclosed.note
    assert "ask the user" in disclosed.note


async def test_fallback_ask_user_asks_also_when_nothing_is_near(library, provide):
    disclosed = await provide(fallback="ask_user").before_request("xyzzy")
    assert "none is near" in disclosed.note
    assert "ask the user" in disclosed.note
    assert disclosed.candidates == ()


async def test_a_cut_catalogue_names_what_is_near_so_that_no_turn_is_spent_on_searching(write_skill, provide):
    for number in range(120):
        write_skill(f"filler-{number:03}", description="Waters the office plants")
    write_skill("zebra", description="Converts invoices into spreadsheets")
    strict = SkillMatcher(mode="lexical", threshold=0.9999)
    provider = provide(budget=400, matcher=strict)
    disclosed = await provider.before_request("What do spreadsheets cost?")
    assert disclosed.matched == ()
    assert [match.skill.name for match in disclosed.candidates] == ["zebra"]
    assert (
        "Perhaps useful for this request; load_skill loads them:\n"
        "- zebra: Converts invoices into spreadsheets"
    ) in disclosed.note
    await provider.tools()[0].call({"skill_id": "zebra"})
    assert (await provider.before_request("What do spreadsheets cost?")).insertions == ()


async def test_copies_of_a_skill_under_other_names_take_one_line(write_skill, provide):
    for number in range(30):
        write_skill(f"copy-{number:02}", description="Converts invoices into spreadsheets")
    write_skill("zebra", description="Draws spreadsheets as charts")
    strict = SkillMatcher(mode="lexical", threshold=0.9999)
    provider = provide(budget=100, matcher=strict)
    disclosed = await provider.before_request("Are there invoices?")
    assert [match.skill.name for match in disclosed.candidates] == ["copy-00"]
    await provider.tools()[0].call({"skill_id": "copy-07"})
    assert (await provider.before_request("More invoices?")).candidates == ()


async def test_a_whole_catalogue_needs_no_suggestions(library, provide):
    strict = SkillMatcher(mode="lexical", threshold=0.9999)
    assert (await provide(matcher=strict).before_request("What about people?")).insertions == ()


async def test_no_fallback_while_a_skill_is_active(library, provide):
    provider = provide(fallback="show_all")
    await provider.before_request("Say bonjour to Alice")
    assert "No skill matched" not in (await provider.before_request("What is 2+2?")).everything
