"""Matches can be counted from the journal, and are logged without what the user wrote."""

import json
import logging

import pytest

import skillkit.disclosure
from skillkit.journal.usage import UsageCounter


class Counting:
    """A journal that counts."""

    def __init__(self):
        self.counter = UsageCounter()

    def record(self, event):
        self.counter.add(event)

    def close(self):
        pass


async def test_matches_and_misses_are_counted_by_skill(write_skill, provide):
    write_skill("hello", triggers="[bonjour]")
    write_skill("markets", description="Reads prices")
    provider = provide()
    provider.manager.journal = Counting()
    for request in ("bonjour", "bonjour", "bonjour to you", "2+2"):
        await provider.before_request(request)
    await provider.tools()[0].call({"skill_id": "markets"})
    rows = provider.manager.journal.counter.by_skill
    assert (rows["hello"].matched, rows["hello"].missed) == (2, 0)
    assert (rows["markets"].matched, rows["markets"].missed) == (0, 1)


async def test_the_log_names_skills_and_scores_but_not_the_request(write_skill, provide, caplog):
    write_skill("hello", triggers="[bonjour]")
    with caplog.at_level(logging.INFO, logger="skillkit.disclosure"):
        await provide().before_request("bonjour, my password is hunter2")
    (line,) = [record.message for record in caplog.records if record.message.startswith("Skill match: ")]
    record = json.loads(line.removeprefix("Skill match: "))
    assert 0 < record["matched"]["hello"] <= 1
    assert record["characters"] == 31
    assert "hunter2" not in caplog.text


def test_the_name_of_the_counts_in_memory_is_there_for_one_more_release():
    with pytest.warns(DeprecationWarning, match="UsageCounter"):
        assert skillkit.disclosure.MatchAnalytics is UsageCounter
