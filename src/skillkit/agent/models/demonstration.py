"""How the embedded model is shown to reply: a short conversation with tools and skills that do not exist."""

import json
from typing import Any

Turn = dict[str, str]

_SYSTEM = """\
You reply with exactly one JSON object:
{"tool": NAME, "arguments": {...}} uses a tool. Fill in every argument that the request says or implies.
{"answer": TEXT} answers: knowledge, arithmetic, writing, chat, what your skills are and what they are for.
{"cannot": TEXT} says that none of your tools can do what is asked.

## Agent Skills
- pdf-forms: Fill in PDF forms
- trip-planner: Plan trips by train
Tools:
- get_weather(city: string, unit?: string): The weather in a city.
- compare_weather(cities: list of string, unit?: string): The weather in several cities.
- list_cities(): The cities that the weather is known of.
- load_skill(skill_id: pdf-forms|trip-planner, arguments?: string): Load a skill.
- script_list(skill_name?: string): List the scripts of a skill.
- script_help(skill_name: string, script_name: string): Show which arguments a script takes.
- script_run(skill_name: string, script_name: string, args?: list of string): Run a script of a skill."""

NOW_THE_REAL_ONE = (
    "That was an example. Now you have other skills and tools: only those below. Reply in the same form. "
    "Use a tool only if the request is about what it does; else answer. A skill whose instructions stand "
    "below is loaded: use its tools."
)
HOW_TO_REPLY = """\
The first of these that fits is your reply:
1. The request is about skills (have you any, which, what does one do): {"answer": ...} from the list above.
2. One of your tools does what is asked: {"tool": ...}. The tool knows which values it takes.
3. You know it or can write it yourself: {"answer": ...}
4. Anything else: {"cannot": ...}"""


def _call(tool: str, **arguments: Any) -> str:
    return json.dumps({"tool": tool, "arguments": arguments})


def _said(user: str, reply: str) -> list[Turn]:
    return [{"role": "user", "content": user}, {"role": "assistant", "content": reply}]


def _answer(text: str) -> str:
    return json.dumps({"answer": text}, ensure_ascii=False)


def _cannot(text: str) -> str:
    return json.dumps({"cannot": text})


# Tools, knowledge, skills and refusals take turns: a model this small repeats what it has seen most of late.
DEMONSTRATION: list[Turn] = [
    {"role": "system", "content": _SYSTEM},
    *_said("what is 12 * 12?", _answer("144")),
    *_said("how many °F in Oslo?", _call("get_weather", city="Oslo", unit="fahrenheit")),
    *_said("Result of get_weather: 39 °F, rain", _answer("39 °F, rain")),
    *_said("who discovered penicillin?", _answer("Alexander Fleming")),
    *_said("which cities do you know?", _call("list_cities")),
    *_said('Result of list_cities: ["Oslo", "Rome"]', _answer("Oslo and Rome.")),
    *_said("what skills do you have?", _answer("I have 2 skills: pdf-forms and trip-planner.")),
    *_said("what is trip-planner for?", _answer("It plans trips by train.")),
    *_said("fill in tax.pdf for me", _call("load_skill", skill_id="pdf-forms")),
    *_said(
        'Result of load_skill: <skill_context id="pdf-forms">Run the script fill.</skill_context>',
        _call("script_run", skill_name="pdf-forms", script_name="fill", args=["tax.pdf"]),
    ),
    *_said('Result of script_run: {"filled": 12}', _answer("12 fields of tax.pdf are filled in.")),
    *_said("turn the heating down", _cannot("I cannot control the heating.")),
    *_said("which scripts does pdf-forms have?", _call("script_list", skill_name="pdf-forms")),
    *_said('Result of script_list: ["check", "count", "fill"]', _answer("check, count and fill.")),
    *_said("what is the past tense of 'go'?", _answer("went")),
    *_said(
        "how do I use its count script?", _call("script_help", skill_name="pdf-forms", script_name="count")
    ),
    *_said('Result of script_help: "count FILE [--pages N]"', _answer("count FILE, with --pages N.")),
    *_said("tell me about the pdf-forms skill", _answer("pdf-forms fills in PDF forms, with its scripts.")),
    *_said(
        "run count of pdf-forms on a.pdf with --pages 1",
        _call("script_run", skill_name="pdf-forms", script_name="count", args=["a.pdf", "--pages", "1"]),
    ),
    *_said("script_run failed: Script timed out after 60s", _answer("That failed: it timed out after 60s.")),
    *_said("email that to Bob", _cannot("I cannot send email.")),
    *_said("weather for Rome and Oslo please", _call("compare_weather", cities=["Rome", "Oslo"])),
    *_said("Result of compare_weather: Rome 21 °C, Oslo 4 °C", _answer("Rome 21 °C, Oslo 4 °C.")),
    *_said("in French, what is 'red house'?", _answer("maison rouge")),
    *_said(
        "run pdf-forms' fill script: --form visa --copies 2",
        _call(
            "script_run", skill_name="pdf-forms", script_name="fill", args=["--form", "visa", "--copies", "2"]
        ),
    ),
    *_said('Result of script_run: {"filled": 2}', _answer("2 copies of the form visa are filled in.")),
    *_said("what is the weather like?", _answer("In which city?")),
    *_said("which skills are loaded?", _answer("2 skills: pdf-forms and trip-planner.")),
    *_said("water the plants", _cannot("I cannot water plants.")),
    *_said("write one line about rain", _answer("Soft rain taps the window, asking to come in.")),
    *_said(
        "what can you do?",
        _answer(
            "I answer questions. Skills: pdf-forms fills in PDF forms, trip-planner plans trips by train."
        ),
    ),
    *_said("what does the pdf-forms skill do?", _answer("It fills in, checks and counts PDF forms.")),
    *_said("explain trip-planner to me", _answer("The skill trip-planner plans trips by train.")),
]
