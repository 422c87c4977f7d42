"""Matching is counted and logged without what the user wrote."""

import json
import logging

from skillkit.disclosure import MatchAnalytics


async def test_matches_and_misses_are_counted_by_skill(write_skill, provide):
    write_skill("hello", triggers="[bonjour]")
    write_skill("markets", description="Reads prices")
    records = []
    provider = provide(analytics=MatchAnalytics(records.append))
    for request in ("bonjour", "bonjour", "bonjour to you", "2+2"):
        await provider.before_request(request)
    await provider.tools()[0].call({"skill_id": "markets"})
    await provider.tools()[0].call({"skill_id": "hello"})
    report = provider.analytics.report()
    assert provider.analytics.requests == len(records) == 3
    assert (report["hello"].matched, report["hello"].missed, report["hello"].found) == (2, 0, 1.0)
    assert (report["markets"].matched, report["markets"].missed, report["markets"].found) == (0, 1, 0.0)


async def test_the_log_names_skills_and_scores_but_not_the_request(write_skill, provide, caplog):
    write_skill("hello", triggers="[bonjour]")
    with caplog.at_level(logging.INFO, logger="skillkit.disclosure"):
        await provide().before_request("bonjour, my password is hunter2")
    (line,) = [record.message for record in caplog.records if record.message.startswith("Skill match: ")]
    record = json.loads(line.removeprefix("Skill match: "))
    assert record["matched"][0]["id"] == "hello"
    assert 0 < record["matched"][0]["score"] <= 1
    assert record["characters"] == 31
    assert "hunter2" not in caplog.text
