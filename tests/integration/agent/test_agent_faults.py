"""What services do to a program: cut, hang, refuse, repeat themselves. Over real HTTP."""

import json
import threading
from pathlib import Path

import pytest
from openai_server import CallTool, Fail, OpenAIServer, Say

from skillkit.agent.compaction import SHORT_RESULT, Compaction, compact, tokens_of
from skillkit.agent.conversations import ConversationStore

HALF = "This is the first half of an"
UNFINISHED = 5


@pytest.mark.parametrize(
    ("finish", "words"),
    [
        ("length", "reached the output limit"),
        ("content_filter", "filter stopped it"),
        (None, "stream ended early"),
    ],
)
def test_an_answer_that_is_not_whole_is_shown_and_told(agent, online, finish: str | None, words: str) -> None:
    online.replies = [Say(HALF, finish=finish)]
    done = agent("-p", "Hello")
    assert (done.code, done.stdout) == (UNFINISHED, f"{HALF}\n")
    assert words in " ".join(done.stderr.split())
    spoken = ConversationStore().load().messages[-1]["contents"][0]["text"]
    assert spoken.startswith(HALF)


def test_an_empty_answer_is_no_answer(agent, online: OpenAIServer) -> None:
    online.replies = [Say("")]
    done = agent("-p", "Hello")
    assert (done.code, done.stdout) == (UNFINISHED, "")
    assert "it is empty" in " ".join(done.stderr.split())


def test_a_connection_that_is_lost_in_the_middle_shows_what_came(agent, online: OpenAIServer) -> None:
    online.chunked = True
    online.replies = [Say(HALF, finish=None)]
    done = agent("-p", "Hello")
    assert (done.code, done.stdout) == (UNFINISHED, f"{HALF}\n")
    assert "lost the connection before the response was complete" in " ".join(done.stderr.split())


def test_the_words_of_the_service_are_shown_with_what_to_do(agent, online: OpenAIServer) -> None:
    said = "This model's maximum context length is 128000 tokens."
    online.replies = [Fail(400, said, code="context_length_exceeded")]
    done = agent("-p", "Hello")
    line = " ".join(done.stderr.split())
    assert done.code == 1
    assert said in line
    assert "context_length_exceeded" in line
    assert "/compact" in line
    assert "developer.mozilla.org" not in line


def test_a_service_that_sends_nothing_is_given_up(agent, online: OpenAIServer) -> None:
    over = threading.Event()
    online.before = lambda: over.wait(60)
    agent("config", "set", "openai.timeout", "1")
    done = agent("-p", "Hello")
    over.set()
    assert done.code == 1
    assert "sent nothing for 1 s" in " ".join(done.stderr.split())


def test_a_busy_service_is_asked_again(agent, online: OpenAIServer) -> None:
    online.replies = [Fail(429, "Rate limit reached", wait=0.01), Say("Here I am.")]
    done = agent("-p", "Hello")
    assert (done.code, done.stdout) == (0, "Here I am.\n")
    said = [text for _, text in online.requests[-1].spoken if not text.startswith("<skill_context")]
    assert said == ["Hello"]


def test_a_quota_that_is_used_up_is_said(agent, online: OpenAIServer) -> None:
    refused = Fail(429, "You exceeded your current quota", wait=0.01, code="insufficient_quota")
    online.replies = [refused] * 3
    done = agent("-p", "Hello")
    assert done.code == 1
    assert "the quota is exhausted" in done.stderr


def test_a_question_whose_request_failed_is_kept(agent, online: OpenAIServer) -> None:
    online.replies = [Fail(400, "no"), Say("Now.")]
    agent("-p", "first question")
    agent("--continue", "-p", "second question")
    roles = [role for role, _ in online.requests[-1].spoken]
    texts = [text for _, text in online.requests[-1].spoken]
    assert roles == ["user", "assistant", "user"]
    assert texts[0] == "first question"
    assert texts[2] == "second question"


def test_an_answer_that_cannot_be_saved_is_printed_all_the_same(
    agent, online: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_HOME", "/proc/nowhere")
    monkeypatch.setenv("LOG_LEVEL", "trace")
    online.replies = [Say("The paid answer.")]
    done = agent("-p", "Remember my name is Ada")
    assert (done.code, done.stdout) == (0, "The paid answer.\n")
    assert done.stderr.count("could not be saved") == 1
    assert "Errno" not in done.stderr
    assert "Traceback" not in done.stderr


def test_endless_calls_of_a_tool_end_at_the_limit(agent, online: OpenAIServer) -> None:
    agent("config", "set", "tool_calls", "3")
    online.replies = [CallTool("list_languages", {})] * 9
    done = agent("-p", "Which languages can you greet in?")
    assert (done.code, done.stdout) == (UNFINISHED, "")
    assert "called tools 3 times without an answer, list_languages 3 times" in " ".join(done.stderr.split())
    assert len(online.requests) == 3


def test_a_turn_ends_at_its_limit_of_tokens(agent, online: OpenAIServer) -> None:
    agent("config", "set", "turn_tokens", "200")
    online.replies = [CallTool("list_languages", {})] * 9
    done = agent("-p", "Which languages can you greet in?")
    assert done.code == UNFINISHED
    assert "turn_tokens" in done.stderr
    assert "list_languages was called" in " ".join(done.stderr.split())
    assert len(online.requests) == 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (CallTool("greet_in_language", '{"name": "Al'), ("name", "JSON")),
        (CallTool("greet_in_language", {"language": "fr"}), ("name",)),
        (CallTool("load_skill", {"skill_id": "kalshi"}), ("kalshi-markets",)),
        (CallTool("load_skill", {"skill_id": "zebra"}), ("zebra", "hello-extended", "kalshi-markets")),
        (CallTool("no_such_tool", {}), ("no_such_tool", "greet_in_language")),
    ],
    ids=["no-json", "missing", "unknown-id", "far-id", "unknown-tool"],
)
def test_a_model_that_calls_a_tool_wrongly_is_told_how_it_goes(agent, online, call, words) -> None:
    online.replies = [call, Say("Sorry.")]
    agent("-p", "Greet Alice in French")
    result = online.requests[-1].spoken[-1][1]
    assert all(word in result for word in words), result


def test_the_trace_counts_everything_that_is_sent(
    agent, online: OpenAIServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOG_LEVEL", "trace")
    monkeypatch.setenv("ENABLE_SENSITIVE_DATA", "true")
    online.replies = [
        Say("Noted.", usage=False),
        CallTool("list_languages", {}),
        Say("Three.", usage=False),
    ]
    agent("-p", "word " * 2000)
    agent("--continue", "-p", "Which languages can you greet in?")
    [log] = (home / "logs").glob("*")
    requests = [entry for entry in map(json.loads, log.read_text().splitlines()) if entry["kind"] == "model"]
    counts = [entry["tokens"] for entry in requests]
    assert [count["estimated"] for count in counts] == [True, False, True]
    assert all(count["messages"] > 2000 for count in counts)
    assert counts[2]["messages"] > counts[1]["messages"] + 50  # the result of the tool
    assert counts[2]["total"] > 2000
    assert [entry["request"] for entry in requests][1:] == ["Which languages can you greet in?"] * 2
    assert requests[2]["result"] == "Three."


def test_a_huge_answer_never_goes_out_again_whole(agent, online: OpenAIServer) -> None:
    online.replies = [Say("x" * 3_000_000)]
    agent("-p", "Give me a lot")
    agent("--continue", "-p", "and now?")
    assert len(json.dumps(online.requests[-1].body)) < 200_000
    assert ConversationStore().load().messages[1]["contents"][0]["text"] == "x" * 3_000_000


def test_a_long_conversation_is_shortened_and_the_user_is_told(agent, online: OpenAIServer) -> None:
    agent("config", "set", "openai.context", "4000")
    for number in range(4):
        online.replies = [Say(f"{number} " * 1500)]
        done = agent(*(["--continue"] if number else []), "-p", f"question {number}")
        assert done.code == 0
    assert "The conversation became long: 4 messages are no longer sent." in " ".join(done.stderr.split())
    texts = [text for _, text in online.requests[-1].spoken]
    assert "left out to save space" in texts[0]
    assert "- question 0" in texts[0]
    assert texts[-1] == "question 3"


def turn(question: str, result: str, answer: str) -> list[dict]:
    def said(role: str, **content: object) -> dict:
        return {"type": "message", "role": role, "contents": [content]}

    return [
        said("user", type="text", text=question),
        said("assistant", type="function_call", call_id=question, name="look", arguments="{}"),
        said("tool", type="function_result", call_id=question, result=result),
        said("assistant", type="text", text=answer),
    ]


def test_results_of_tools_are_shortened_before_turns_go() -> None:
    messages = [*turn("a", "1 " * 3000, "one"), *turn("b", "2 " * 3000, "two"), *turn("c", "3", "three")]
    compaction = compact(messages, Compaction(), tokens_of(messages) - 1)
    assert compaction.dropped == 0
    view = compaction.view(messages)
    assert len(view) == len(messages)
    assert len(view[2]["contents"][0]["result"]) < SHORT_RESULT + 100
    assert view[-4:] == messages[-4:]
    assert compact(messages, compaction, tokens_of(view)) == compaction
    smaller = compact(messages, compaction, 200)
    assert smaller.dropped == 8
    assert smaller.view(messages)[1:] == messages[8:]
