"""A class with annotated methods is a set of tools with schemas, conversions and standard answers."""

import asyncio
import dataclasses
import datetime
import json
import logging
import subprocess
import sys
import threading
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pytest
from pydantic import BaseModel, Field

from skillkit.toolsets import AgentToolset


class Colour(Enum):
    RED = "red"
    GREEN = "green"


class Address(BaseModel):
    street: str
    number: int = 1


class Person(BaseModel):
    name: str
    address: Address


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0


class Options(TypedDict, total=False):
    loud: bool


class Everything(AgentToolset):
    """One method for each kind of annotation."""

    def simple(self, text: str, count: int, ratio: float, *, flag: bool, anything: Any, nothing=None):
        """Takes simple values.

        Args:
            text: What to say,
                on two lines.
            count (int): How often.
            nothing: Left out.

        Returns:
            What it was given.
        """
        return [text, count, ratio, flag, anything, nothing]

    async def annotated(
        self,
        name: Annotated[str, Field(description="Whom to greet")],
        times: Annotated[int, "How often", Field(ge=1, le=3)] = 1,
    ) -> list[str]:
        """Greets."""
        return [name] * times

    def choices(self, colour: Colour, size: Literal["s", "m", 3] = "s", maybe: int | None = None) -> object:
        """:param colour: Which one."""
        return {"colour": colour, "size": size, "maybe": maybe}

    def structures(
        self,
        names: list[str],
        pair: tuple[int, str],
        table: dict[str, float],
        unique: set[int],
        many: tuple[int, ...] = (1,),
    ) -> object:
        return [names, pair, table, sorted(unique), many]

    def models(self, person: Person, point: Point, options: Options) -> object:
        return {"person": person, "point": point, "number": person.address.number, "options": options}

    def moments(self, when: datetime.datetime, where: Path, price: Decimal) -> object:
        return [when, where, price, b"bytes", {1: frozenset({2})}, Colour.RED]

    def _private(self) -> None:
        raise AssertionError

    @property
    def not_a_tool(self) -> str:
        return ""


TOOLS = {tool.name: tool for tool in Everything().tools()}


def properties(name: str) -> dict[str, Any]:
    return dict(TOOLS[name].parameters["properties"])


async def call(name: str, /, **arguments: object) -> dict[str, Any]:
    answer = (await TOOLS[name].call(arguments)).data
    json.dumps(answer)
    return answer


def test_public_methods_are_tools_in_the_order_they_are_written():
    assert list(TOOLS) == ["simple", "annotated", "choices", "structures", "models", "moments"]


def test_the_docstring_describes_the_tool_and_its_arguments():
    tool = TOOLS["simple"]
    assert tool.description.startswith("Takes simple values.")
    assert "Args" not in tool.description
    assert tool.parameters["required"] == ["text", "count", "ratio", "flag", "anything"]
    assert tool.parameters["additionalProperties"] is False
    assert properties("simple") == {
        "text": {"type": "string", "description": "What to say, on two lines."},
        "count": {"type": "integer", "description": "How often."},
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "anything": {},
        "nothing": {"description": "Left out.", "default": None},
    }


def test_annotations_say_more_than_a_type():
    assert properties("annotated") == {
        "name": {"type": "string", "description": "Whom to greet"},
        "times": {"type": "integer", "description": "How often", "minimum": 1, "maximum": 3, "default": 1},
    }
    assert properties("choices") == {
        "colour": {"type": "string", "enum": ["red", "green"], "description": "Which one."},
        "size": {"enum": ["s", "m", 3], "default": "s"},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
    }
    assert properties("structures") == {
        "names": {"type": "array", "items": {"type": "string"}},
        "pair": {
            "type": "array",
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
            "minItems": 2,
            "maxItems": 2,
        },
        "table": {"type": "object", "additionalProperties": {"type": "number"}},
        "unique": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
        "many": {"type": "array", "items": {"type": "integer"}, "default": [1]},
    }
    assert properties("moments")["when"] == {"type": "string", "format": "date-time"}


def test_models_bring_their_own_schema_and_its_parts():
    person = properties("models")["person"]
    assert person["properties"]["address"] == {"$ref": "#/$defs/Address"}
    assert "Address" in TOOLS["models"].parameters["$defs"]
    assert properties("models")["point"] == {
        "type": "object",
        "properties": {"x": {"type": "number"}, "y": {"type": "number"}},
        "required": ["x"],
    }
    assert properties("models")["options"]["required"] == []


async def test_arguments_become_what_the_annotations_say():
    answer = await call("annotated", name="Ada", times=2)
    assert answer == {"success": True, "result": ["Ada", "Ada"], "message": "Executed annotated"}
    answer = await call("choices", colour="green", size=3, maybe=None)
    assert answer["result"] == {"colour": "green", "size": 3, "maybe": None}
    assert (await call("choices", colour="RED"))["result"]["colour"] == "red"
    answer = await call("structures", names=["a"], pair=[1, "b"], table={"x": 1}, unique=[2, 2])
    assert answer["result"] == [["a"], [1, "b"], {"x": 1.0}, [2], [1]]
    person = {"name": "Ada", "address": {"street": "Main", "number": 7}}
    answer = await call("models", person=person, point={"x": 1}, options={"loud": True})
    assert answer["result"]["number"] == 7
    assert answer["result"]["person"] == person
    assert answer["result"]["point"] == {"x": 1.0, "y": 0.0}
    answer = await call("moments", when="2026-01-02T03:04:05", where="a/b", price="1.5")
    assert answer["result"] == ["2026-01-02T03:04:05", "a/b", "1.5", "Ynl0ZXM=", {"1": [2]}, "red"]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("annotated", {}, "needs the argument 'name'"),
        ("annotated", {"name": "x", "nmae": "y"}, "does not take 'nmae'; it takes name, times"),
        ("annotated", {"name": 7}, "must be a text; got 7"),
        ("annotated", {"name": "x", "times": True}, "must be a whole number"),
        ("annotated", {"name": "x", "times": 9}, "must keep maximum 3; got 9"),
        ("annotated", {"name": "x", "times": 0}, "must keep minimum 1"),
        ("choices", {"colour": "blue"}, "one of 'red', 'green'"),
        ("choices", {"colour": "red", "size": "xl"}, "must be one of 's', 'm', 3"),
        ("choices", {"colour": "red", "maybe": "x"}, "must be a whole number; got 'x'; or"),
        ("structures", {"names": "abc", "pair": [], "table": {}, "unique": []}, "must be a list"),
        ("structures", {"names": [], "pair": [1], "table": {}, "unique": []}, "must have 2 items; got 1"),
        ("structures", {"names": [1], "pair": [1, ""], "table": {}, "unique": []}, "an item of 'names'"),
        ("structures", {"names": [], "pair": [1, ""], "table": 1, "unique": []}, "must be an object"),
        (
            "models",
            {"person": {"name": 1}, "point": {"x": 1}, "options": {}},
            "'person' of models is not Person",
        ),
        ("models", {"person": 1, "point": {"z": 1}, "options": {}}, "is not"),
        ("moments", {"when": "never", "where": "a", "price": "1"}, "'when' of moments is not datetime"),
        ("moments", {"when": 5, "where": "a", "price": "1"}, "must be datetime; got 5"),
    ],
)
async def test_wrong_arguments_are_answered_with_what_is_wrong(name, arguments, said):
    answer = await TOOLS[name].handler(**arguments)
    assert answer["success"] is False
    assert answer["result"] is None
    assert answer["error"] == "invalid_arguments"
    assert said in answer["message"]
    assert (await TOOLS[name].call(arguments)).data["error"] == "invalid_arguments"


class Behaviour(AgentToolset):
    def raises(self) -> None:
        raise ValueError("no luck")

    async def exits(self) -> None:
        sys.exit("out")

    def answers(self, good: bool) -> dict[str, object]:
        return {"success": good, "error": "custom"} if not good else {"success": True, "result": Colour.RED}

    def where(self) -> bool:
        return threading.current_thread() is threading.main_thread()

    def later(self) -> Any:
        return asyncio.sleep(0, "awaited")

    def opaque(self, thing: "Unresolvable", *rest: int, **more: int) -> object:  # noqa: F821
        return object.__name__

    def bottomless(self) -> object:
        deep: list[object] = []
        for _ in range(100_000):
            deep = [deep]
        return deep

    def recursive(self) -> object:
        loop: list[object] = []
        loop.append(loop)
        return loop


async def behave(name: str, /, **arguments: object) -> dict[str, Any]:
    tools = {tool.name: tool for tool in Behaviour({"a": 1}).tools()}
    return (await tools[name].call(arguments)).data


async def test_what_a_method_raises_is_answered_and_logged(caplog):
    with caplog.at_level(logging.ERROR):
        answer = await behave("raises")
    assert answer == {
        "success": False,
        "result": None,
        "error": "execution_failed",
        "message": "ValueError: no luck",
    }
    assert "Tool raises failed" in caplog.text
    assert (await behave("exits"))["message"] == "SystemExit: out"


async def test_a_method_may_give_the_standard_answer_itself():
    assert await behave("answers", good=True) == {"success": True, "result": "red", "message": ""}
    answer = await behave("answers", good=False)
    assert answer == {"success": False, "result": None, "error": "custom", "message": ""}


async def test_a_blocking_method_does_not_block_the_event_loop():
    assert (await behave("where"))["result"] is False
    assert (await behave("later"))["result"] == "awaited"


async def test_a_result_that_cannot_be_written_down_is_an_error():
    answer = await behave("bottomless")
    assert answer["error"] == "execution_failed"


async def test_what_cannot_be_understood_is_left_open():
    assert (await behave("opaque", thing={"any": 1}))["result"] == "object"
    json.dumps(await behave("recursive"))


def test_a_toolset_that_names_its_tools_itself_is_believed():
    class Chosen(AgentToolset):
        def one(self) -> int:
            return 1

        def two(self) -> int:
            return 2

        def get_tools(self):
            return [self.two]

    assert [tool.name for tool in Chosen().tools()] == ["two"]
    assert Chosen("config").config == "config"


def test_inherited_methods_are_tools_too():
    class Base(AgentToolset):
        def first(self) -> int:
            return 1

    class Derived(Base):
        def second(self) -> int:
            return 2

    assert [tool.name for tool in Derived().tools()] == ["first", "second"]


def test_pydantic_is_not_needed_for_plain_annotations():
    program = """
import sys, asyncio
sys.modules["pydantic"] = None
from skillkit.core.grants import Limits
from skillkit.toolsets import AgentToolset, as_tool
class Plain(AgentToolset):
    def add(self, a: int, b: int = 2) -> int:
        return a + b
(tool,) = Plain().tools()
print(asyncio.run(tool.call({"a": 1})).data["result"], tool.parameters["required"])
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "3 ['a']\n"
