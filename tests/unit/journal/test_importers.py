"""Other agents' logs: which skill, when, wanted by whom; damaged lines cost themselves."""

import json
from pathlib import Path

from skillkit.journal import Kind
from skillkit.journal.importers import IMPORTERS, claude_code_events, codex_events


def write_lines(path: Path, *entries: object) -> None:
    path.parent.mkdir(parents=True)
    lines = [entry if isinstance(entry, str) else json.dumps(entry) for entry in entries]
    path.write_text("\n".join(lines))


def test_claude_code_sessions(tmp_path: Path) -> None:
    base = {"sessionId": "s-1", "timestamp": "2026-01-15T10:00:00.000Z"}
    skill = {"type": "tool_use", "name": "Skill", "input": {"skill": "pdf", "args": "a.pdf"}}
    read = {"type": "tool_use", "name": "Read", "input": {"file_path": "/u/.claude/skills/csv/SKILL.md"}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "Launching skill: pdf"}
    command = "<command-message>seo</command-message>\n<command-name>/seo</command-name>"
    write_lines(
        tmp_path / "projects" / "-u-app" / "s-1.jsonl",
        {"type": "summary", "summary": "s"},
        {**base, "type": "user", "message": {"role": "user", "content": "Fill this form"}},
        {**base, "type": "assistant", "message": {"content": [{"type": "text", "text": "ok"}, skill, read]}},
        {**base, "type": "user", "message": {"role": "user", "content": [result]}},
        "{not json",
        {**base, "type": "user", "message": {"role": "user", "content": command}},
        '{"type": "assistant", "message": {"content": [{"type": "tool_use", "na',
    )
    events = list(claude_code_events(tmp_path))
    seen = [(event.kind, event.skill, event.turn, event.data["origin"]) for event in events]
    assert seen == [
        (Kind.LOADED, "pdf", 1, "model"),
        (Kind.READ, "csv", 1, "model"),
        (Kind.LOADED, "seo", 2, "user"),
    ]
    assert {event.conversation for event in events} == {"s-1"}
    assert events[0].time == 1768471200.0
    assert events[0].data["arguments"]["length"] == 5
    assert "text" not in events[0].data["arguments"]


def test_codex_sessions_in_both_forms(tmp_path: Path) -> None:
    def message(text: str) -> dict[str, object]:
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}

    injected = "<skill>\n<name>pdf</name>\n<path>/u/.agents/skills/pdf/SKILL.md</path>\nBody\n</skill>"
    command = json.dumps({"cmd": "sed -n 1,200p /u/.codex/skills/release-notes/SKILL.md"})
    stamp = {"timestamp": "2026-01-15T10:00:00Z"}
    write_lines(
        tmp_path / "sessions" / "2026" / "01" / "15" / "rollout-x.jsonl",
        {**stamp, "type": "session_meta", "payload": {"id": "thread-9"}},
        {
            **stamp,
            "type": "response_item",
            "payload": message("<environment_context>\n</environment_context>"),
        },
        {**stamp, "type": "response_item", "payload": message("Use $pdf on this")},
        {**stamp, "type": "response_item", "payload": message(injected)},
        {
            **stamp,
            "type": "response_item",
            "payload": {"type": "function_call", "name": "exec_command", "arguments": command},
        },
    )
    write_lines(
        tmp_path / "sessions" / "old" / "rollout-y.jsonl",
        {"type": "local_shell_call", "action": {"command": ["cat", "skills/csv/SKILL.md"]}},
    )
    events = list(codex_events(tmp_path))
    seen = [(event.conversation, event.skill, event.turn, event.data["origin"]) for event in events]
    assert seen == [
        ("thread-9", "pdf", 1, "user"),
        ("thread-9", "release-notes", 1, "model"),
        ("rollout-y", "csv", 0, "model"),
    ]
    assert events[2].time == 0


def test_codex_items_that_were_done_are_one_use_with_their_call(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "2026"
    folder.mkdir(parents=True)
    command = "sed -n 1,200p /home/u/.agents/skills/csv/SKILL.md"
    call = {"type": "function_call", "name": "exec_command", "arguments": json.dumps({"cmd": command})}
    done = {"type": "CommandExecution", "command": ["/bin/zsh", "-lc", command]}
    other = {"type": "CommandExecution", "command": ["cat", "/home/u/.codex/skills/pdf/SKILL.md"]}
    entries = [
        {"type": "session_meta", "payload": {"session_id": "abc"}},
        {"type": "response_item", "payload": call},
        *(
            {"type": "event_msg", "payload": {"type": "item_completed", "item": each}}
            for each in (done, other)
        ),
    ]
    lines = (json.dumps({"timestamp": "2026-09-24T15:33:06.000Z", **entry}) for entry in entries)
    (folder / "rollout-1.jsonl").write_text("\n".join(lines))
    events = list(codex_events(tmp_path))
    assert [(event.skill, event.conversation) for event in events] == [("csv", "abc"), ("pdf", "abc")]


def test_a_machine_without_the_client_has_no_events(tmp_path: Path) -> None:
    assert [list(events(tmp_path)) for events in IMPORTERS.values()] == [[], []]
