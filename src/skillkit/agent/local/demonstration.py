"""How the embedded model is shown to reply: a short conversation with tools that do not exist."""

from typing import Any

from skillkit.agent.local.engine import Turn
from skillkit.agent.local.reply import NO_TOOL_TEXT, Call

SYSTEM = """\
Reply to the last message with one JSON object.
{"tool": NAME, "arguments": {...}} calls the tool that does what is asked; take values from what was said.
{"tool": "none"} is for everything that no tool does: knowledge, arithmetic, writing, chat.

An example with other tools:
- get_weather(city: string, unit?: celsius|fahrenheit): Weather in a city.
- send_note(to: list of string, text: string): Send a note.
- script_run(skill_id: pdf-forms, script_name: count|fill, args?: list of string): Run a script.
- list_skills(): List the skills."""

REAL = "That was an example. These are your tools, and there are no others:"


def exchange(user: str, reply: str) -> list[Turn]:
    """Return a request and the reply to it."""
    return [{"role": "user", "content": user}, {"role": "assistant", "content": reply}]


def _call(tool: str, **arguments: Any) -> str:
    return Call(tool, arguments).text()


DEMONSTRATION: list[Turn] = [
    {"role": "system", "content": SYSTEM},
    *exchange("what is 12 * 12?", NO_TOOL_TEXT),
    *exchange("how many °F in Oslo?", _call("get_weather", city="Oslo", unit="fahrenheit")),
    *exchange("who discovered penicillin?", NO_TOOL_TEXT),
    *exchange("use the weather skill for Rome", _call("get_weather", city="Rome")),
    *exchange(
        "run count of pdf-forms on a.pdf with --pages 1",
        _call("script_run", skill_id="pdf-forms", script_name="count", args=["a.pdf", "--pages", "1"]),
    ),
    *exchange("thanks, bye!", NO_TOOL_TEXT),
    *exchange("what can you do?", _call("list_skills")),
    *exchange("tell Ann and Bo: lunch at one", _call("send_note", to=["Ann", "Bo"], text="lunch at one")),
    *exchange("write one line about rain", NO_TOOL_TEXT),
]
