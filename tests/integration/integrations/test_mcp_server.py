"""The MCP server, asked by the official client: resources, prompts, the Skills extension, news, trust."""

import asyncio
import hashlib
import json
import re
import socket
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
import uvicorn
from agent_framework import MCPSkillsSource, SkillsSourceContext
from conformance.library import Library, friendly, hostile, write
from mcp import Client
from mcp.shared.exceptions import MCPError
from pydantic import ConfigDict

from skillkit import SkillManager
from skillkit.core.authority import PerTenantAuthority
from skillkit.integrations.mcp import SkillServer
from skillkit.integrations.mcp import server as server_module
from skillkit.integrations.mcp.http import http_app
from skillkit.integrations.mcp.server import EXTENSION
from skillkit.scripts import ScriptTools
from skillkit.scripts.outputs import OutputStore

ERAS = ["auto", "legacy"]


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return friendly(tmp_path / "skills")


class Anything(types.Result):
    model_config = ConfigDict(extra="allow")


class Request(types.Request[dict[str, Any], str]):
    method: str
    params: dict[str, Any]


async def ask(client: Client, method: str, **params: Any) -> dict[str, Any]:
    answer = await client.session.send_request(Request(method=method, params=params), Anything)
    return answer.model_dump(by_alias=True)


def content(read: types.ReadResourceResult) -> Any:
    (only,) = read.contents
    return only


@pytest.mark.parametrize("era", ERAS)
async def test_scripts_are_offered_only_when_the_server_was_started_so(library: Library, era: Any):
    async with Client(SkillServer(library.manager).server, mode=era) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
    assert names == {"load_skill", "read_skill_resource"}


async def test_files_that_a_script_made_are_links_that_can_be_read(library: Library):
    script = library.folder / "maker" / "scripts" / "make.sh"
    write(library.folder, "maker", "Makes files")
    script.parent.mkdir(parents=True)
    script.write_text("cd $SKILL_OUTPUT_DIR; echo text > 'a note.txt'; printf '\\377' > raw.bin")
    library.manager.refresh()
    server = SkillServer(library.manager, scripts=True).server
    async with Client(server) as client:
        call = {"skill_name": "maker", "script_name": "make", "json": False}
        answer = await client.call_tool("script_run", call)
        links = [block for block in answer.content if isinstance(block, types.ResourceLink)]
        assert [(link.name, link.size, link.mime_type) for link in links] == [
            ("a note.txt", 5, "text/plain"),
            ("raw.bin", 1, "application/octet-stream"),
        ]
        assert content(await client.read_resource(links[0].uri)).text == "text\n"
        assert content(await client.read_resource(links[1].uri)).blob == "/w=="
        assert "script_file" in {tool.name for tool in (await client.list_tools()).tools}
        with pytest.raises(MCPError):
            await client.read_resource(str(links[0].uri).replace("a%20note.txt", "..%2f..%2fother"))


async def test_where_made_files_are_kept_is_not_for_other_machines(library: Library, tmp_path: Path):
    outputs = OutputStore(tmp_path / "kept")
    scripts = ScriptTools(library.manager, outputs=outputs)
    app = http_app(SkillServer(library.manager, scripts=scripts))
    web = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    listening = socket.create_server(("127.0.0.1", 0))
    serving = asyncio.create_task(web.serve(sockets=[listening]))
    async with Client(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp") as client:
        answer: Any = await client.call_tool("script_run", {"skill_id": "runner", "script_name": "paint"})
    web.should_exit = True
    await serving
    text, link, picture = answer.content
    assert str(tmp_path) not in text.text
    assert link.uri in text.text
    assert (picture.type, picture.mime_type) == ("image", "image/png")


async def test_a_manager_that_was_never_filled_is_filled(library: Library):
    manager = SkillManager(project_skill_dir=library.folder, anthropic_config_dir="")
    async with Client(SkillServer(manager).server) as client:
        answer: Any = await client.call_tool("load_skill", {"skill_id": "tide-tables"})
    assert "harmonic constants" in answer.content[0].text


async def test_tools_say_what_they_do_to_the_world(library: Library):
    async with Client(SkillServer(library.manager, scripts=library.scripts).server) as client:
        hints = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
    assert (hints["load_skill"].read_only_hint, hints["load_skill"].open_world_hint) == (True, False)
    assert (hints["script_run"].read_only_hint, hints["script_run"].destructive_hint) == (False, True)


@pytest.mark.parametrize("era", ERAS)
async def test_files_are_resources_to_the_byte(library: Library, era: Any):
    folder = library.folder / "pdf-forms"
    async with Client(SkillServer(library.manager).server, mode=era) as client:
        skill = content(await client.read_resource("skill://pdf-forms/SKILL.md"))
        fields = content(await client.read_resource("skill://pdf-forms/references/fields.md"))
        logo = content(await client.read_resource("skill://pdf-forms/logo.png"))
        templates = await client.list_resource_templates()
    assert skill.text.encode() == (folder / "SKILL.md").read_bytes()
    assert (skill.mime_type, fields.text) == ("text/markdown", "# Fields\n\nName, date.\n")
    assert (logo.mime_type, logo.blob) == ("image/png", "iVBORw0KGgoAAA==")
    assert [each.uri_template for each in templates.resource_templates] == ["skill://{name}/{+path}"]


@pytest.mark.parametrize(
    "uri",
    [
        "skill://pdf-forms/../runner/SKILL.md",
        "skill://pdf-forms/%2e%2e/runner/SKILL.md",
        "skill://pdf-forms//etc/passwd",
        "skill://pdf-forms/missing.md",
        "skill://nothing/SKILL.md",
        "skill://not-trusted/SKILL.md",
        "skill://switched-off/SKILL.md",
        "skill://secret-handshake/SKILL.md",
        "skill://pdf-forms",
        "file:///etc/passwd",
    ],
)
async def test_nothing_else_is_a_resource(library: Library, uri: str):
    async with Client(SkillServer(library.manager).server) as client:
        with pytest.raises(MCPError) as refused:
            await client.read_resource(uri)
        assert refused.value.error.code == types.INVALID_PARAMS
        with pytest.raises(MCPError):
            await ask(client, "skills/get", uri=uri)


@pytest.mark.parametrize("era", ERAS)
async def test_the_extension_gives_the_digest_and_size_of_every_file(library: Library, era: Any):
    async with Client(SkillServer(library.manager).server, mode=era) as client:
        capabilities = client.session.server_capabilities
        assert capabilities is not None
        told = capabilities.experimental if era == "legacy" else capabilities.extensions
        assert told == {EXTENSION: {"directoryRead": True}}
        listed = await ask(client, "skills/list")
        entry = (await ask(client, "skills/get", uri="skill://pdf-forms/SKILL.md"))["skill"]
    assert [skill["uri"] for skill in listed["skills"]] == [
        "skill://pdf-forms/SKILL.md",
        "skill://runner/SKILL.md",
        "skill://tide-tables/SKILL.md",
    ]
    assert entry in listed["skills"]
    assert (listed["resultType"], listed["cacheScope"]) == ("complete", "private")
    folder = library.folder / "pdf-forms"
    expected = {
        f"skill://pdf-forms/{path.relative_to(folder)}": (
            f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}",
            path.stat().st_size,
        )
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert {each["uri"]: (each["digest"], each["size"]) for each in entry["resources"]} == expected


@pytest.mark.parametrize("era", ERAS)
async def test_folders_of_a_skill_can_be_listed(library: Library, era: Any):
    async with Client(SkillServer(library.manager).server, mode=era) as client:
        top = await ask(client, "resources/directory/read", uri="skill://pdf-forms")
        below = await ask(client, "resources/directory/read", uri="skill://pdf-forms/references/")
        for uri in (
            "skill://pdf-forms/SKILL.md",
            "skill://pdf-forms/nothing",
            "skill://not-trusted",
            "skill:",
        ):
            with pytest.raises(MCPError) as refused:
                await ask(client, "resources/directory/read", uri=uri)
            assert refused.value.error.code == types.INVALID_PARAMS
    assert [(each["name"], each["mimeType"]) for each in top["resources"]] == [
        ("SKILL.md", "text/markdown"),
        ("logo.png", "image/png"),
        ("references", "inode/directory"),
    ]
    assert [each["uri"] for each in below["resources"]] == ["skill://pdf-forms/references/fields.md"]


@pytest.mark.parametrize("calls", [{"scripts": True}, {}])
async def test_a_client_cannot_guess_the_names_of_skills_it_may_not_have(library: Library, calls: Any):
    library.manager.authority = PerTenantAuthority({"editor": ["runner"]}, library.manager.authority)
    server = SkillServer(library.manager, scripts=library.scripts if calls else False).server
    async with Client(server, client_info=types.Implementation(name="editor", version="1")) as client:
        for hidden in ("tide-tables", "not-trusted", "switched-off", "secret-handshake"):
            answers = []
            for name in (hidden, "no-such-name"):
                tried: list[Any] = [
                    await client.call_tool("load_skill", {"skill_id": name}),
                    await client.call_tool("read_skill_resource", {"skill_id": name, "path": "SKILL.md"}),
                ]
                for tool in ("script_run", "script_help") if calls else ():
                    given = {"skill_name": name, "script_name": "echo"}
                    tried.append(await client.call_tool(tool, given))
                said = [each.content[0].text for each in tried]
                with pytest.raises(MCPError) as refused:
                    await client.get_prompt(name)
                said.append(refused.value.error.message)
                answers.append([re.sub(r"\b[0-9a-f]{16}\b", "", text.replace(name, "")) for text in said])
            assert answers[0] == answers[1]


async def test_the_header_comes_as_it_was_written(tmp_path: Path):
    more = "license: MIT\nmetadata:\n  version: '2.1'\n  tags: [a, b]\nmade-up: 3\n"
    write(tmp_path / "skills", "odd", "Odd fields.", more=more)
    manager = SkillManager(project_skill_dir=tmp_path / "skills", anthropic_config_dir="")
    manager.discover()
    async with Client(SkillServer(manager).server) as client:
        entry = (await ask(client, "skills/get", uri="skill://odd/SKILL.md"))["skill"]
    assert entry["frontmatter"] == {
        "name": "odd",
        "description": "Odd fields.",
        "license": "MIT",
        "metadata": {"version": "2.1", "tags": ["a", "b"]},
        "made-up": 3,
    }


async def test_long_lists_come_in_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server_module, "PAGE", 2)
    library = hostile(tmp_path / "skills")
    names: list[str] = []
    uris: list[str] = []
    prompts: list[str] = []
    async with Client(SkillServer(library.manager).server) as client:
        params: dict[str, Any] = {}
        while True:
            page = await ask(client, "skills/list", **params)
            assert len(page["skills"]) <= 2
            names += [skill["frontmatter"]["name"] for skill in page["skills"]]
            if "nextCursor" not in page:
                break
            params = {"cursor": page["nextCursor"]}
        cursor = None
        while True:
            resources = await client.list_resources(cursor=cursor)
            uris += [resource.uri for resource in resources.resources]
            cursor = resources.next_cursor
            if cursor is None:
                break
        while True:
            found = await client.list_prompts(cursor=cursor)
            prompts += [prompt.name for prompt in found.prompts]
            cursor = found.next_cursor
            if cursor is None:
                break
        with pytest.raises(MCPError):
            await ask(client, "skills/list", cursor="next please")
        with pytest.raises(MCPError, match="There is no page") as refused:
            await ask(client, "skills/list", cursor="9" * 5000)
        assert refused.value.error.code == types.INVALID_PARAMS
    offered = [skill.name for skill in library.manager.offered_skills()]
    assert names == offered
    assert len(uris) == len(offered) + 1
    assert prompts == [skill.canonical_name for skill in library.manager.offered_skills()]


async def test_both_dialects_see_the_same_skills(tmp_path: Path):
    library = hostile(tmp_path / "skills")
    async with Client(SkillServer(library.manager).server) as client:
        old = json.loads(content(await client.read_resource("skill://index.json")).text)["skills"]
        new = (await ask(client, "skills/list"))["skills"]
        assert [skill["url"] for skill in old] == [skill["uri"] for skill in new]
        for skill in new:
            read = content(await client.read_resource(skill["uri"]))
            raw = read.text.encode()
            known = {each["uri"]: each for each in skill["resources"]}[skill["uri"]]
            assert known["digest"] == f"sha256:{hashlib.sha256(raw).hexdigest()}"


@pytest.mark.filterwarnings("ignore:.*MCPSkillsSource is experimental")
async def test_agent_framework_reads_the_older_dialect(library: Library):
    async with Client(SkillServer(library.manager).server) as client:
        source = MCPSkillsSource(client=client)
        context = SkillsSourceContext(agent=None, session=None)  # type: ignore[arg-type]
        skills = {skill.frontmatter.name: skill for skill in await source.get_skills(context)}
        assert set(skills) == {"pdf-forms", "runner", "tide-tables"}
        assert "harmonic constants" in await skills["tide-tables"].get_content()


async def test_prompts_are_the_skills_a_user_may_start(library: Library):
    write(library.folder, "not-for-users", "Models only.", more="user-invocable: false\n")
    library.manager.refresh()
    async with Client(SkillServer(library.manager).server) as client:
        prompts = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
        started = await client.get_prompt("secret-handshake", {"arguments": "now"})
        for refused in ("not-for-users", "switched-off", "nothing"):
            with pytest.raises(MCPError):
                await client.get_prompt(refused)
    assert set(prompts) == {"pdf-forms", "runner", "secret-handshake", "tide-tables"}
    message: Any = started.messages[0]
    assert message.role == "user"
    assert "Shake." in message.content.text
    assert "ARGUMENTS: now" in message.content.text


async def test_listeners_hear_of_changed_skills(library: Library):
    server = SkillServer(library.manager, watch=True)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client(server.server))
        news = await stack.enter_async_context(
            client.listen(tools_list_changed=True, resources_list_changed=True, prompts_list_changed=True)
        )
        write(library.folder, "late-comer", "Comes late.")
        heard = set()
        async with asyncio.timeout(60):
            async for event in news:
                heard.add(type(event).__name__)
                if len(heard) == 3:
                    break
        assert heard == {"ToolsListChanged", "ResourcesListChanged", "PromptsListChanged"}
        listed = await ask(client, "skills/list")
    assert "late-comer" in [skill["frontmatter"]["name"] for skill in listed["skills"]]


async def test_clients_of_the_older_protocol_hear_of_them_too(library: Library):
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def note(message: Any) -> None:
        await heard.put(getattr(message, "method", ""))

    server = SkillServer(library.manager)
    async with Client(server.server, mode="legacy", message_handler=note) as client:
        await client.list_tools()
        await server.announce()
        async with asyncio.timeout(60):
            methods = {await heard.get() for _ in range(3)}
    assert methods == {f"notifications/{kind}/list_changed" for kind in ("tools", "resources", "prompts")}


@pytest.mark.parametrize("era", ERAS)
async def test_each_client_has_the_skills_it_is_trusted_with(library: Library, era: Any):
    allowed = {"editor": ["PDF_Forms"], "ci": ["*"]}
    library.manager.authority = PerTenantAuthority(allowed, library.manager.authority)
    server = SkillServer(library.manager).server
    seen = {}
    for name in ("editor", "ci", "stranger"):
        info = types.Implementation(name=name, version="1")
        async with Client(server, client_info=info, mode=era) as client:
            seen[name] = [
                skill["frontmatter"]["name"] for skill in (await ask(client, "skills/list"))["skills"]
            ]
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert ("load_skill" in tools) == bool(seen[name])
            assert ("- runner" in (client.session.instructions or "")) == (name == "ci")
            if name == "editor":
                refused: Any = await client.call_tool("load_skill", {"skill_id": "tide-tables"})
                unknown: Any = await client.call_tool("load_skill", {"skill_id": "tide-table"})
                assert refused.content[0].text == unknown.content[0].text.replace("tide-table", "tide-tables")
    assert seen == {"editor": ["pdf-forms"], "ci": ["pdf-forms", "runner", "tide-tables"], "stranger": []}
