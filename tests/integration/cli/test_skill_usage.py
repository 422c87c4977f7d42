"""`agent skill usage` and `agent journal` as a person runs them, over a journal of known events."""

import json
from pathlib import Path

import pytest

from skillkit.journal import Event, Kind, SqliteJournal


def matched(taken: str, near: str, conversation: str) -> Event:
    data = {"matched": [{"id": taken, "score": 0.9}], "near": [{"id": near, "score": 0.2}], "line": 0.5}
    return Event(Kind.MATCHED, data=data, conversation=conversation, turn=1)


@pytest.fixture
def home(own_home: Path, write_skill) -> Path:
    for name in ("winner", "loser", "by-hand", "unused"):
        write_skill(name, into=own_home / ".agents" / "skills")
    journal = SqliteJournal(own_home / ".agent" / "journal.sqlite")
    for number in range(3):
        journal.record(matched("winner", "loser", f"talk-{number}"))
    run = {"script": "a.py", "exit_code": 1, "error": "failed"}
    for event in (
        Event(Kind.ACTIVATED, "winner", data={"origin": "matched", "tokens": 40}),
        Event(Kind.READ, "winner", data={"path": "a.md"}),
        Event(Kind.SCRIPT_RUN, "winner", data=run),
        Event(Kind.LOADED, "by-hand", data={"origin": "user"}, conversation="talk-9", turn=1),
    ):
        journal.record(event)
    journal.close()
    return own_home


def test_every_column_of_the_use_of_skills(home: Path, run_agent) -> None:
    ran = run_agent("skill", "usage", "--json", AGENT_SKILLS="all-untrusted")
    rows = {row["skill"]: row for row in json.loads(ran.stdout)}
    counted = ("matched", "loaded", "read", "run", "failed", "tokens")
    assert [rows["winner"][name] for name in counted] == [3, 0, 1, 1, 1, 40]
    assert rows["winner"]["last"]
    assert rows["loser"]["always_beaten_by"] == "winner"
    assert (rows["by-hand"]["loaded"], rows["by-hand"]["missed"]) == (1, 1)
    assert (rows["unused"]["never_used"], rows["unused"]["last"]) == (True, None)
    shown = run_agent("skill", "usage", AGENT_SKILLS="all-untrusted", COLUMNS="120").stdout
    assert "always behind winner" in shown
    assert "loaded by hand 1 ×" in shown
    assert "never used" in shown


def test_the_journal_is_counted_exported_and_pruned(home: Path, run_agent) -> None:
    assert "matched" in run_agent("journal", "stats").stdout
    exported = [json.loads(line) for line in run_agent("journal", "export").stdout.splitlines()]
    assert [event["kind"] for event in exported].count("matched") == 3
    assert run_agent("journal", "prune", "--keep", "0d").returncode == 0
    assert run_agent("journal", "export").stdout == ""


def test_what_another_agents_log_does_not_tell_is_unknown(home: Path, run_agent) -> None:
    folder = home / ".claude" / "projects" / "p"
    folder.mkdir(parents=True)
    use = {"type": "tool_use", "name": "Skill", "input": {"skill": "pdf"}}
    entry = {"type": "assistant", "timestamp": "2026-01-02T03:04:05Z", "message": {"content": [use]}}
    (folder / "s.jsonl").write_text(json.dumps(entry) + "\n")
    shown = run_agent("skill", "usage", "--of", "claude-code", "--since", "5200w").stdout
    assert shown.splitlines()[1].split() == ["pdf", "?", "1", "0", "?", "?", "?", "2026-01-02"]
    nothing = run_agent("skill", "usage", "--of", "codex")
    assert "name no skill of the last 90d" in nothing.stderr
