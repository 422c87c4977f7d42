"""The toolset of hello-extended, loaded from its skill as an agent loads it."""

import pytest

from skillkit import SkillManager
from skillkit.toolsets import ToolsetLoader


@pytest.fixture(scope="module")
def tools():
    manager = SkillManager(project_skill_dir="", anthropic_config_dir="", bundled=True)
    manager.discover()
    loaded = ToolsetLoader(manager).load()
    assert loaded.errors == ()
    return {tool.name: tool for tool in loaded.tools}


def test_three_tools_whose_schemas_come_from_the_code(tools):
    assert list(tools) == ["greet_in_language", "greet_multiple", "list_languages"]
    schema = tools["greet_multiple"].parameters
    assert schema["required"] == ["names"]
    assert schema["properties"]["names"]["items"] == {"type": "string"}
    assert "mixed" in schema["properties"]["language"]["description"]


async def test_at_least_twelve_languages_all_of_which_greet(tools):
    languages = (await tools["list_languages"].handler())["result"]
    assert len(languages) >= 12
    greetings = set()
    for code, language in languages.items():
        by_code = await tools["greet_in_language"].handler(name="Ada", language=code)
        by_name = await tools["greet_in_language"].handler(name="Ada", language=language)
        assert by_code == by_name
        assert "Ada" in by_code["result"]
        greetings.add(by_code["result"])
    assert len(greetings) >= 12


@pytest.mark.parametrize("language", ["es", "ES", "es-MX", "es_AR", "Spanish", " spanish "])
async def test_a_language_may_be_spelled_in_many_ways(tools, language):
    answer = await tools["greet_in_language"].handler(name="Alice", language=language)
    assert answer == {
        "success": True,
        "result": "¡Hola, Alice!",
        "message": "Greeted Alice in Spanish",
    }


async def test_english_is_what_one_gets_without_asking(tools):
    assert (await tools["greet_in_language"].handler(name="Alice"))["result"] == "Hello, Alice!"


async def test_a_name_is_a_name_whatever_it_looks_like(tools):
    answer = await tools["greet_in_language"].handler(name="{0.__class__}")
    assert answer["result"] == "Hello, {0.__class__}!"
    for unknown in ("  ", "me", "Myself"):
        assert (await tools["greet_in_language"].handler(name=unknown))["result"] == "Hello, friend!"


@pytest.mark.parametrize("tool", ["greet_in_language", "greet_multiple"])
async def test_an_unknown_language_is_an_answer_that_names_the_known_ones(tools, tool):
    who = {"name": "Ada"} if tool == "greet_in_language" else {"names": ["Ada"]}
    answer = await tools[tool].handler(**who, language="Klingon")
    assert (answer["success"], answer["error"]) == (False, "unknown_language")
    assert "'Klingon'" in answer["message"]
    assert "zh" in answer["message"]


async def test_several_people_in_one_language_in_order(tools):
    answer = await tools["greet_multiple"].handler(names=["Ada", "Alan"], language="de")
    assert answer["result"] == ["Hallo, Ada!", "Hallo, Alan!"]
    assert answer["message"] == "Greeted 2 people in German"


async def test_mixed_takes_another_language_for_each(tools):
    answer = await tools["greet_multiple"].handler(
        names=[f"P{number}" for number in range(20)], language="Mixed"
    )
    assert len(set(answer["result"])) == 20
    assert "P0" in answer["result"][0]


@pytest.mark.parametrize("count", [0, 101])
async def test_too_few_or_too_many_names_are_refused(tools, count):
    answer = await tools["greet_multiple"].handler(names=["x"] * count)
    assert (answer["success"], answer["error"]) == (False, "invalid_names")
