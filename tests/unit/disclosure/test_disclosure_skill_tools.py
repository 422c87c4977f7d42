"""load_skill, read_skill_resource, search_skills: what they answer, errors included."""

import asyncio
import os
import re

import pytest

from skillkit import SkillManager
from skillkit.core.authority import DefaultAuthority
from skillkit.core.availability import Refusal
from skillkit.disclosure import SkillContextProvider, SkillSession
from skillkit.disclosure.tools import Argument

ERROR = re.compile(r'<skill_context id="(.*?)"><error code="(\w+)">(.*)</error></skill_context>', re.DOTALL)


@pytest.fixture
def tool(provide):
    """`tool("load_skill")` of one conversation."""
    provider = provide()

    def named(name, session=None):
        return {tool.name: tool for tool in provider.tools(session)}[name]

    return named


def error_of(answer):
    match = ERROR.fullmatch(answer)
    assert match, answer
    return match[2], match[3]


async def test_loading_gives_instructions_resources_and_a_directive(write_skill, tool, manager):
    folder = write_skill("pdf", "# PDF\n\nUse `<b>` & $ARGUMENTS.\n")
    (folder / "references").mkdir()
    (folder / "references" / "forms.md").write_text("Forms")
    answer = (await tool("load_skill").call({"skill_id": "pdf", "arguments": "a.pdf"})).text
    assert answer.startswith('<skill_context id="pdf">\n<instructions>\n')
    assert manager.invoke_skill("pdf", "a.pdf") in answer
    assert "<resources>\n  <resource>references/forms.md</resource>\n</resources>\n" in answer
    assert "Forms" not in answer
    assert "<execution_directive>\n" in answer
    assert answer.endswith("</execution_directive>\n</skill_context>")


async def test_an_argument_is_renamed_in_one_place(write_skill, tool, monkeypatch):
    write_skill("pdf")
    monkeypatch.setattr(Argument, "SKILL", "of_skill")
    for name, more in (("load_skill", {}), ("read_skill_resource", {"path": "SKILL.md"})):
        assert "of_skill" in tool(name).definition["parameters"]["required"]
        answer = await tool(name).call({"of_skill": "pdf", **more})
        assert not answer.failed, answer.text


async def test_resource_names_are_capped_and_it_is_said(write_skill, tool):
    folder = write_skill("many")
    for number in range(60):
        (folder / f"file-{number:02}.txt").write_text("x")
    answer = (await tool("load_skill").call({"skill_id": "many"})).text
    assert answer.count("<resource>") == 50
    assert "… and 10 more; the first 50 are listed." in answer


async def test_a_second_load_is_answered_shortly(write_skill, tool):
    write_skill("pdf", "# The instructions\n" * 100)
    load = tool("load_skill")
    await load.call({"skill_id": "pdf"})
    again = (await load.call({"skill_id": "PDF"})).text
    assert 'status="already_active"' in again
    assert "# The instructions" not in again


async def test_other_arguments_or_a_changed_file_are_delivered_again(write_skill, tool):
    folder = write_skill("pdf", "Read $ARGUMENTS\n")
    load = tool("load_skill")
    assert "Read a.pdf" in (await load.call({"skill_id": "pdf", "arguments": "a.pdf"})).text
    assert "Read b.pdf" in (await load.call({"skill_id": "pdf", "arguments": "b.pdf"})).text
    assert "already_active" in (await load.call({"skill_id": "pdf"})).text
    text = (folder / "SKILL.md").read_text()
    (folder / "SKILL.md").write_text(text.replace("Read", "Carefully read"))
    assert "Carefully read b.pdf" in (await load.call({"skill_id": "pdf"})).text


async def test_parallel_loads_deliver_once(write_skill, tool):
    write_skill("pdf", "# The instructions\n")
    load = tool("load_skill")
    answers = await asyncio.gather(*(load.call({"skill_id": "pdf"}) for _ in range(20)))
    assert sum("# The instructions" in answer.text for answer in answers) == 1
    assert sum("already_active" in answer.text for answer in answers) == 19


async def test_each_activation_has_a_fresh_nonce(write_skill, provide):
    write_skill("pdf")
    provider = provide()
    sessions = [SkillSession() for _ in range(5)]
    for session in sessions:
        await provider.tools(session)[0].call({"skill_id": "pdf"})
    assert len({session.active[0].nonce for session in sessions}) == 5


async def test_an_unknown_skill_is_not_found_and_near_names_are_offered(write_skill, tool):
    write_skill("pdf-extractor")
    code, message = error_of((await tool("load_skill").call({"skill_id": "pdf-extracter"})).text)
    assert code == "not_found"
    assert "Did you mean pdf-extractor?" in message


class ByName(DefaultAuthority):
    """Refuses by name."""

    def offer_refusal(self, skill, requester):
        code = {"off": "disabled", "foreign": "untrusted"}.get(skill.name)
        return Refusal(code, f"Skill '{skill.name}' is {code}") if code else None


@pytest.mark.parametrize(
    ("name", "fields", "code"),
    [
        ("off", {}, "disabled"),
        ("foreign", {}, "untrusted"),
        ("needy", {"requires": "{commands: [no-such-command-here]}"}, "unavailable"),
        ("private", {"disable_model_invocation": "true"}, "disabled"),
    ],
)
async def test_skills_that_may_not_be_used_are_absent_and_refused_with_a_reason(
    write_skill, skills_dir, name, fields, code
):
    (write_skill("good") / "more.md").write_text("More")
    folder = write_skill(name, **fields)
    (folder / "notes.md").write_text("secret")
    provider = SkillContextProvider(SkillManager(project_skill_dir=skills_dir, authority=ByName()))
    assert provider.get_skill_names() == ["good"]
    assert f"<id>{name}</id>" not in provider.tier1_context()
    load, read = provider.tools()[:2]
    assert load.parameters["properties"]["skill_id"] == {"type": "string"}
    found, message = error_of((await load.call({"skill_id": name})).text)
    assert (found, name in message) == (code, True)
    assert error_of((await read.call({"skill_id": name, "path": "notes.md"})).text)[0] == code


async def test_a_file_that_is_gone_is_a_read_error(write_skill, tool):
    folder = write_skill("pdf")
    load = tool("load_skill")
    os.remove(folder / "SKILL.md")
    code, message = error_of((await load.call({"skill_id": "pdf"})).text)
    assert code == "read_error"
    assert "SKILL.md" in message


async def test_what_is_too_large_is_refused_with_the_way_out(write_skill, tool):
    write_skill("huge", "word and more words \n" * 20_000)
    load = tool("load_skill")
    code, message = error_of((await load.call({"skill_id": "huge"})).text)
    assert code == "too_large"
    assert "read_skill_resource" in message
    page = (await tool("read_skill_resource").call({"skill_id": "huge", "path": "SKILL.md"})).text
    assert 'next_offset="16384"' in page
    write_skill("small")
    code, _ = error_of((await load.call({"skill_id": "huge", "arguments": "x" * 1_000_001})).text)
    assert code == "too_large"


async def test_a_resource_is_read_in_pages(write_skill, tool):
    folder = write_skill("pdf")
    (folder / "data.txt").write_text("abcdefghij")
    read = tool("read_skill_resource")
    page = (await read.call({"skill_id": "pdf", "path": "data.txt", "limit": 4})).text
    assert re.fullmatch(
        r'<skill_resource id="pdf" path="data.txt" size="10" media_type="text/plain" offset="0" '
        r'next_offset="4">\n'
        r"\[(\w{16}) begin\]\nabcd\n\[\1 end\]\n</skill_resource>",
        page,
    )
    last = (await read.call({"skill_id": "pdf", "path": "data.txt", "offset": "8"})).text
    assert "\nij\n" in last
    assert "next_offset" not in last


async def test_a_binary_file_is_described_without_its_bytes(write_skill, tool):
    folder = write_skill("pdf")
    (folder / "logo.png").write_bytes(b"\x89PNG\0\0secret")
    answer = (await tool("read_skill_resource").call({"skill_id": "pdf", "path": "logo.png"})).text
    assert 'size="12" media_type="image/png"' in answer
    assert "secret" not in answer


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("missing.md", "not_found"),
        ("../other/SKILL.md", "read_error"),
        ("/etc/passwd", "read_error"),
        ("link", "read_error"),
        ("folder", "read_error"),
        ("a\u202eb", "read_error"),
    ],
)
async def test_paths_that_cannot_be_read_are_errors_as_data(write_skill, tool, path, code, tmp_path):
    folder = write_skill("pdf")
    (folder / "folder").mkdir()
    (folder / "link").symlink_to(tmp_path)
    answer = (await tool("read_skill_resource").call({"skill_id": "pdf", "path": path})).text
    assert error_of(answer)[0] == code


async def test_searching_finds_what_the_catalogue_leaves_out(write_skill, provide):
    for number in range(120):
        write_skill(f"filler-{number:03}", description="Waters the office plants")
    write_skill("zebra", description="Converts invoices into spreadsheets")
    provider = provide(budget=400)
    assert "zebra" not in (await provider.before_request("Hi")).instructions
    search = {tool.name: tool for tool in provider.tools()}["search_skills"]
    answer = (await search.call({"query": "turn my invoice into a spreadsheet", "limit": 2})).text
    assert answer.startswith(
        '<skill_search query="turn my invoice into a spreadsheet">\n  <skill>\n    <id>zebra</id>'
    )
    assert "<description>Converts invoices into spreadsheets</description>" in answer
    assert "<why>" in answer
    nothing = (await search.call({"query": "qqqq"})).text
    assert "No skill matches" in nothing


async def test_a_shadowed_skill_is_loaded_by_its_qualified_name(write_skill, skills_dir, tmp_path):
    write_skill("pdf", "the first\n")
    write_skill("pdf", "the second\n", into=tmp_path / "more")
    manager = SkillManager(project_skill_dir=skills_dir, additional_search_paths=[tmp_path / "more"])
    provider = SkillContextProvider(manager)
    load = provider.tools()[0]
    qualified = next(name for name in manager.list_skills(include_qualified=True) if ":" in name)
    assert "the first" in (await load.call({"skill_id": "pdf"})).text
    assert "the second" in (await load.call({"skill_id": qualified})).text
    assert "already_active" in (await load.call({"skill_id": qualified})).text
    assert provider.session.active_ids == ("pdf", qualified)
