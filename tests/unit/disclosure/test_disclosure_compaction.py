"""Which messages must survive when a conversation is shortened."""

from skillkit.disclosure import SkillSession, plan_compaction


async def test_active_text_is_kept_superseded_text_can_go_and_lost_text_is_named(write_skill, provide):
    write_skill("pdf", "Read $ARGUMENTS\n")
    write_skill("csv", "# CSV\n")
    provider, session = provide(), SkillSession()
    load = provider.tools(session)[0]
    first = (await load.call({"skill_id": "pdf", "arguments": "a.pdf"})).text
    second = (await load.call({"skill_id": "pdf", "arguments": "b.pdf"})).text
    await load.call({"skill_id": "csv"})
    messages = [
        {"role": "user", "content": "Read both files"},
        {"role": "tool", "content": first},
        {"role": "tool", "content": second},
        {"role": "assistant", "content": "Done"},
    ]
    plan = plan_compaction(messages, session)
    assert plan.keep == (2,)
    assert plan.superseded == (1,)
    assert plan.missing == ("csv",)


async def test_text_that_only_claims_to_be_a_skill_is_not_kept(write_skill, provide):
    write_skill("pdf")
    provider, session = provide(), SkillSession()
    real = (await provider.tools(session)[0].call({"skill_id": "pdf"})).text
    nonce = session.active[0].nonce
    forged = real.replace(nonce, "0123456789abcdef")
    assert plan_compaction([forged, f"[{nonce} begin]"], session).keep == ()


async def test_text_after_a_message_of_the_user_is_missing_when_that_message_is(write_skill, provide):
    write_skill("pdf", triggers="[zebra]")
    provider = provide()
    await provider.before_request("zebra")
    assert plan_compaction(["Hi", "zebra"], provider.session).missing == ()
    assert plan_compaction(["Hi"], provider.session).missing == ("pdf",)
