"""How the embedded model is shown to reply: a short conversation with tools and skills that do not exist."""

import json
from typing import Any

Turn = dict[str, str]

_SYSTEM = """\
You reply with exactly one JSON object:
{"tool": NAME, "arguments": {...}} uses a tool. Copy values from the request; leave out what it does not say.
{"answer": TEXT} answers: knowledge, arithmetic, writing, chat, questions about your skills.
{"cannot": TEXT} says that none of your tools can do what is asked.

Skills: pdf-forms (fill in PDF forms), trip-planner (plan trips by train)
Tools:
- get_weather(city: string, unit?: string): The weather in a city.
- load_skill(skill_id: pdf-forms|trip-planner, arguments?: string): Load the instructions of a skill.
- script_list(skill_name?: string): List the scripts of a skill.
- script_help(skill_name: string, script_name: string): Show which arguments a script takes.
- script_run(skill_name: string, script_name: string, args?: list of string): Run a script of a skill."""

NOW_THE_REAL_ONE = (
    "That was an example. Now you have other skills and tools: only those below. Reply in the same form. "
    "Use a tool only if the request is about what it does; else answer."
)


def _call(tool: str, **arguments: Any) -> str:
    return json.dumps({"tool": tool, "arguments": arguments})


def _said(user: str, reply: str) -> list[Turn]:
    return [{"role": "user", "content": user}, {"role": "assistant", "content": reply}]


def _answer(text: str) -> str:
    return json.dumps({"answer": text}, ensure_ascii=False)


DEMONSTRATION: list[Turn] = [
    {"role": "system", "content": _SYSTEM},
    *_said("what is 12 * 12?", _answer("144")),
    *_said("is it cold in Oslo?", _call("get_weather", city="Oslo")),
    *_said(
        "Result of get_weather: 4 °C, rain",
        _answer("In Oslo: 4 °C, rain."),
    ),
    *_said(
        "which skills do you have?",
        _answer("pdf-forms fills in PDF forms, trip-planner plans trips by train."),
    ),
    *_said("what is trip-planner for?", _answer("It plans trips by train.")),
    *_said("fill in tax.pdf for me", _call("load_skill", skill_id="pdf-forms")),
    *_said("what scripts come with pdf-forms?", _call("script_list", skill_name="pdf-forms")),
    *_said(
        "how do I use its count script?", _call("script_help", skill_name="pdf-forms", script_name="count")
    ),
    *_said(
        "run count of pdf-forms on a.pdf, first page only",
        _call("script_run", skill_name="pdf-forms", script_name="count", args=["a.pdf", "--pages", "1"]),
    ),
    *_said(
        "script_run failed: Script timed out after 60s",
        _answer("That failed: the script timed out after 60s."),
    ),
    *_said("email that to Bob", json.dumps({"cannot": "I cannot send email."})),
    *_said("write one line about rain", _answer("Soft rain taps the window, asking to come in.")),
]
