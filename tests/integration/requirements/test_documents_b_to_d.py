"""Sentences of documents B, C and D, each as the short program that a sceptical reader would run at once."""

import os
from pathlib import Path

import pytest

from skillkit import SkillManager, SkillsUseError
from skillkit.core.parser import SkillParser
from skillkit.disclosure import SkillContextProvider, SkillSession

LONG = "Fills in forms. Use when somebody asks for a form, an application or a questionnaire as PDF."


@pytest.fixture
def manager(skills_dir: Path) -> SkillManager:
    return SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="")


async def matched(manager: SkillManager, request: str) -> list[str]:
    disclosed = await SkillContextProvider(manager).before_request(request, SkillSession())
    return [match.skill.name for match in disclosed.matched]


@pytest.fixture(params=["lexical", "keyword"])
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILL_MATCHING_MODE", request.param)


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize(
    ("triggers", "request_text"),
    [
        ("['c++']", "my C++ does not compile"),
        ("['what?!']", "What?! Again?"),
        ('["don\'t"]', "Don't say that"),
        ("[to do]", "add milk to my to do list"),
        ("[pdf]", "merge these PDFs"),
        ("{verbs: [transcribe]}", "please transcribe the interview that I recorded in the park"),
        ("{patterns: ['INV-[0-9]+']}", "where is inv-2041?"),
    ],
)
async def test_a_declared_trigger_counts_in_every_mode(
    write_skill, manager: SkillManager, triggers: str, request_text: str
) -> None:
    write_skill("fires", description="Nothing of the request", triggers=triggers)
    assert await matched(manager, request_text) == ["fires"]
    assert await matched(manager, "Calculate pi to 10 digits") == []


async def test_the_library_follows_the_three_variables(
    write_skill, manager: SkillManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        write_skill(f"zoo-{number}", triggers="[zebra]")
    for limit in (1, 5):
        monkeypatch.setenv("SKILL_MAX_PER_REQUEST", str(limit))
        assert len(await matched(manager, "zebra")) == limit
    said = {}
    for mode in ("none", "show_all", "ask_user"):
        monkeypatch.setenv("SKILL_FALLBACK_MODE", mode)
        disclosed = await SkillContextProvider(manager).before_request("Calculate pi to 10 digits")
        said[mode] = disclosed.everything
    assert len(set(said.values())) == 3


@pytest.mark.parametrize(("field", "most"), [("name", 64), ("description", 1024), ("compatibility", 500)])
def test_strict_takes_the_longest_value_and_nothing_longer_or_empty(
    tmp_path: Path, field: str, most: int
) -> None:
    for length, valid in ((1, True), (most, True), (most + 1, False), (0, False)):
        values = {"name": "a", "description": "d", field: "a" * length}
        folder = tmp_path / str(length) / (values["name"] or "a")
        folder.mkdir(parents=True)
        lines = "".join(f"{name}: '{value}'\n" for name, value in values.items())
        (folder / "SKILL.md").write_text(f"---\n{lines}---\nBody\n")
        if valid:
            SkillParser(strict=True).parse_skill_file(folder / "SKILL.md")
        else:
            with pytest.raises(SkillsUseError):
                SkillParser(strict=True).parse_skill_file(folder / "SKILL.md")


@pytest.mark.parametrize("count", [1, 25])
def test_tier_1_has_every_name_and_whole_description_and_no_enum(
    write_skill, manager: SkillManager, count: int
) -> None:
    for number in range(count):
        write_skill(f"form-{number}", description=f"{number}: <a> & b. {LONG}")
    provider = SkillContextProvider(manager, budget=None if count == 1 else 2000)
    prompt, text = provider.disclose("What is 2+2?").instructions, provider.tier1_context()
    for number in range(count):
        assert f"<id>form-{number}</id>" in text
        assert f"- form-{number}: {number}: " in prompt
        assert f"{number}: &lt;a&gt; &amp; b. {LONG}" in text
    assert prompt.count(LONG) == count
    [load] = [tool for tool in provider.tools() if tool.name == "load_skill"]
    assert load.parameters["properties"]["skill_id"] == {"type": "string"}


async def test_tier_3_lists_by_kind_and_follows_a_link_inside(write_skill, manager: SkillManager) -> None:
    folder = write_skill("kinds")
    for kind in ("scripts", "references", "assets"):
        (folder / kind).mkdir()
        (folder / kind / "file.txt").write_text(kind)
    (folder / "references" / "link.txt").symlink_to("../assets/file.txt")
    provider = SkillContextProvider(manager)
    for kind in ("scripts", "references", "assets"):
        assert f"{kind}/file.txt" in await provider.tier3_resource_list("kinds", kind)
        assert await provider.tier3_resource("kinds", f"{kind}/file.txt") == kind
    assert await provider.tier3_resource("kinds", "references/link.txt") == "assets"


@pytest.mark.parametrize("fault", ["gone", "folder", "bytes"])
async def test_what_cannot_be_read_is_a_read_error(write_skill, manager: SkillManager, fault: str) -> None:
    folder = write_skill("broken")
    provider = SkillContextProvider(manager)
    [load] = [tool for tool in provider.tools() if tool.name == "load_skill"]
    os.remove(folder / "SKILL.md")
    if fault == "folder":
        (folder / "SKILL.md").mkdir()
    if fault == "bytes":
        (folder / "SKILL.md").write_bytes(b"---\nname: broken\ndescription: d\n---\n\xff\xfe\n")
    assert '<error code="read_error">' in (await load.call({"skill_id": "broken"})).text


async def test_the_model_gets_the_whole_of_a_long_text(write_skill, manager: SkillManager) -> None:
    body = "".join(f"Step {number}: <b>check</b> & go on.\n" for number in range(1500))
    write_skill("long", body)
    [load] = [tool for tool in SkillContextProvider(manager).tools() if tool.name == "load_skill"]
    assert body in (await load.call({"skill_id": "long"})).text


def test_the_same_skills_give_the_same_prompt_in_another_manager(write_skill, skills_dir: Path) -> None:
    for name in ("b", "a", "c"):
        write_skill(name)
    first, second = (
        SkillContextProvider(SkillManager(project_skill_dir=skills_dir, anthropic_config_dir=""))
        for _ in range(2)
    )
    assert first.tier1_context() == second.tier1_context() != ""
