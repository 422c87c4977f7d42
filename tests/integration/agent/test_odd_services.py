"""What services say in shapes of their own: errors in the stream, ends of other names, dates to wait for."""

import json

import pytest
from gemini_server import GeminiServer
from model_server import event
from openai_server import CallTool, OpenAIServer, Raw, Say

UNFINISHED = 5
KEY = "test-key-0123456789"


def chunk(delta: dict[str, object], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return event(
        {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    )


def called(name: str, arguments: str) -> dict[str, object]:
    function = {"name": name, "arguments": arguments}
    return {"tool_calls": [{"index": 0, "id": "call", "type": "function", "function": function}]}


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_an_end_of_another_name_is_no_good_end(agent, online: OpenAIServer) -> None:
    online.replies = [Say("The first half", finish="error")]
    done = agent("-p", "Hello")
    assert (done.code, done.stdout) == (UNFINISHED, "The first half\n")
    assert "the provider ended it with 'error'" in one_line(done.stderr)


@pytest.mark.parametrize("finish", ["length", "content_filter", None])
def test_a_call_that_was_cut_is_not_made(agent, online: OpenAIServer, finish: str | None) -> None:
    online.replies = [Raw(chunk(called("list_languages", "{}")) + chunk({}, finish))] * 3
    done = agent("-p", "Which languages can you greet in?")
    assert (done.code, len(online.requests)) == (UNFINISHED, 1)
    assert "is incomplete" in done.stderr


def test_endless_calls_of_a_tool_that_there_is_not_end_with_its_name(agent, online: OpenAIServer) -> None:
    online.replies = [CallTool("frobnicate", {})] * 99
    done = agent("-p", "Hello")
    assert (done.code, done.stdout) == (UNFINISHED, "")
    assert "frobnicate" in done.stderr


def test_more_calls_in_one_response_than_a_turn_may_make_are_not_made(agent, online: OpenAIServer) -> None:
    agent("config", "set", "tool_calls", "3")
    calls = [
        {"index": place, "id": f"call {place}", "type": "function", "function": {"name": "hello_world"}}
        for place in range(5)
    ]
    online.replies = [Raw(chunk({"tool_calls": calls}) + chunk({}, "tool_calls"))]
    done = agent("--json", "-p", "Hello")
    document = json.loads(done.stdout)
    assert (done.code, document["tool_calls"], len(online.requests)) == (UNFINISHED, [], 1)
    assert "called tools 5 times without an answer, hello_world 5 times" in document["error"]


def test_text_after_a_tool_begins_a_paragraph_where_all_messages_have_one_id(
    agent, online: OpenAIServer
) -> None:
    before = chunk({"content": "I look."}) + chunk(called("list_languages", "{}")) + chunk({}, "tool_calls")
    online.replies = [Raw(before), Raw(chunk({"content": "There are ten."}) + chunk({}, "stop"))]
    assert agent("-p", "Which languages can you greet in?").stdout == "I look.\n\nThere are ten.\n"


@pytest.mark.parametrize(
    "error",
    [
        {"message": "Upstream is full", "code": 502},
        {"message": "Upstream is full", "type": "server_error", "code": None},
        {"message": "Upstream is full", "type": "overloaded_error"},
    ],
)
def test_an_error_in_the_place_of_the_answer_is_told_in_its_words(agent, online: OpenAIServer, error) -> None:
    online.replies = [Raw(event({"error": error}))]
    done = agent("-p", "Hello")
    assert (done.code, done.stdout) == (1, "")
    assert "It says: Upstream is full" in one_line(done.stderr)


def test_an_error_in_the_middle_of_an_answer_is_told_in_its_words(agent, online: OpenAIServer) -> None:
    failed = event({"error": {"message": "The server had an error", "type": "server_error"}})
    online.replies = [Raw(chunk({"content": "Some words"}) + failed)]
    done = agent("-p", "Hello")
    assert (done.code, done.stdout, len(online.requests)) == (UNFINISHED, "Some words\n", 1)
    assert "It says: The server had an error" in one_line(done.stderr)


@pytest.mark.parametrize(
    ("status", "said", "words"),
    [
        (
            400,
            "input length and `max_tokens` exceed context limit: 195000 + 8192 > 200000",
            "refused the request",
        ),
        (400, "Your credit balance is too low to access the API.", "refused the request"),
        (404, "Not Found", "or there is no such service at http://127.0.0.1"),
    ],
)
def test_refusals_of_other_services_are_shown_in_their_words(
    agent, online, status: int, said: str, words: str
) -> None:
    online.replies = [Raw(json.dumps({"error": {"message": said}}).encode(), status, "application/json")]
    line = one_line(agent("-p", "Hello").stderr)
    assert words in line
    assert said in line


def test_a_page_in_the_place_of_a_model_leads_to_the_address(agent, online: OpenAIServer) -> None:
    online.replies = [Raw(b"<html>Please log in</html>", kind="text/html")]
    done = agent("-p", "Hello")
    assert done.code == UNFINISHED
    assert f"check whether a model is at {online.url}" in one_line(done.stderr)
    assert f"ready at {online.url}" in one_line(agent("config", "show").stdout)


def test_what_is_no_answer_is_not_told_as_a_failure_of_our_own(agent, online: OpenAIServer) -> None:
    online.replies = [Raw(b"data: {not json\n\n")]
    done = agent("-p", "Hello")
    assert done.code == 1
    assert "sent an invalid response" in one_line(done.stderr)


@pytest.fixture
def gemini(home, monkeypatch: pytest.MonkeyPatch):
    with GeminiServer() as server:
        monkeypatch.setenv("GEMINI_API_KEY", KEY)
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.address)
        yield server


def test_gemini_says_which_filter_stopped_a_request(agent, gemini: GeminiServer) -> None:
    gemini.replies = [Raw(event({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}))]
    done = agent("--provider", "gemini", "-p", "Hello")
    assert done.code == UNFINISHED
    assert "filter stopped the request (PROHIBITED_CONTENT)" in one_line(done.stderr)


def quota(identity: str) -> Raw:
    """A refusal for a limit, which Gemini calls a quota whatever its time."""
    details = [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": identity}]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.01s"},
    ]
    said = "You exceeded your current quota, please check your plan and billing details."
    error = {"code": 429, "message": said, "status": "RESOURCE_EXHAUSTED", "details": details}
    return Raw(json.dumps({"error": error}).encode(), 429, "application/json")


def test_gemini_is_asked_again_and_the_limit_of_a_day_is_called_a_quota(agent, gemini) -> None:
    gemini.replies = [quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"), Say("Here.")]
    assert agent("--provider", "gemini", "-p", "Hello").stdout == "Here.\n"
    gemini.replies = [quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier")] * 3
    done = agent("--provider", "gemini", "-p", "Hello")
    assert done.code == 1
    assert "the quota is exhausted" in one_line(done.stderr)


def test_words_of_a_library_about_itself_are_not_shown(start_agent, gemini: GeminiServer) -> None:
    candidate = {"content": {"role": "model", "parts": [{"text": "Some words"}]}, "finishReason": "OF_2027"}
    gemini.replies = [Raw(event({"candidates": [candidate]}))]
    done = start_agent("--provider", "gemini", "-p", "Hello")
    assert (done.returncode, done.stdout) == (UNFINISHED, "Some words\n")
    assert "Warning" not in done.stderr
