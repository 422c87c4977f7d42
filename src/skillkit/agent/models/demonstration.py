"""How the embedded model is shown to reply: a short conversation with tools and skills that do not exist."""

import json
from collections.abc import Mapping
from typing import Any

Turn = dict[str, str]

_SYSTEM = """\
You reply with one JSON object, the first of these that fits:
{"about": SKILL or "all skills"}: the request is about your skills or about what you can do.
{"tool": NAME, "arguments": {...}}: a tool does what is asked.
{"ask": QUESTION}: a tool would do it, but needs a name or value that the user did not say.
{"answer": TEXT}: knowledge, arithmetic, writing, chat.
{"cannot": TEXT}: none of your tools can do it.

An example with two skills:
- pdf-forms: Fill in PDF forms
- trip-planner: Plan trips by train"""

NOW_THE_REAL_ONE = (
    "That was an example. Your own skills and tools are only these. "
    "Use a tool only if the request is about what it does."
)


def call_text(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return a call as the model writes it."""
    return json.dumps({"tool": tool, "arguments": arguments}, ensure_ascii=False)


def exchange(user: str, reply: str) -> list[Turn]:
    """Return a request and the reply to it."""
    return [{"role": "user", "content": user}, {"role": "assistant", "content": reply}]


def _call(tool: str, **arguments: Any) -> str:
    return call_text(tool, arguments)


def _about(skill: str = "all skills") -> str:
    return json.dumps({"about": skill})


def _ask(text: str) -> str:
    return json.dumps({"ask": text})


def _answer(text: str) -> str:
    return json.dumps({"answer": text}, ensure_ascii=False)


def _cannot(text: str) -> str:
    return json.dumps({"cannot": text})


# Tools, knowledge, skills and refusals take turns: a model this small repeats what it has seen most of late.
DEMONSTRATION: list[Turn] = [
    {"role": "system", "content": _SYSTEM},
    *exchange("what is 12 * 12?", _answer("144")),
    *exchange("how many °F in Oslo?", _call("get_weather", city="Oslo", unit="fahrenheit")),
    *exchange("who discovered penicillin?", _answer("Alexander Fleming")),
    *exchange("can trip-planner book hotels too?", _about("trip-planner")),
    *exchange("turn the heating down", _cannot("I cannot control the heating.")),
    *exchange("which scripts does pdf-forms have?", _call("script_list", skill_id="pdf-forms")),
    *exchange("hello", _answer("Hello! What can I do for you?")),
    *exchange("what is the weather like?", _ask("In which city?")),
    *exchange(
        "how do I use its count script?", _call("script_help", skill_id="pdf-forms", script_name="count")
    ),
    *exchange("in French, what is 'red house'?", _answer("maison rouge")),
    *exchange(
        "run count of pdf-forms on a.pdf with --pages 1",
        _call("script_run", skill_id="pdf-forms", script_name="count", args=["a.pdf", "--pages", "1"]),
    ),
    *exchange("fill in tax.pdf for me", _call("load_skill", skill_id="pdf-forms")),
    *exchange("weather for Rome and Oslo please", _call("compare_weather", cities=["Rome", "Oslo"])),
    *exchange("who are you, what can you do?", _about()),
    *exchange("thanks, bye!", _answer("Goodbye!")),
    *exchange("which skills are loaded?", _about()),
    *exchange("write one line about rain", _answer("Rain taps softly.")),
]
