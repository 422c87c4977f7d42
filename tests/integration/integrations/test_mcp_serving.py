"""`agent serve --mcp` as it is started: over stdio and HTTP, guarded by host, origin and token."""

import asyncio
import json
import os
import re
import shutil
import signal
import sys
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from conformance.library import friendly
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from skillkit import SkillManager
from skillkit.core.exceptions import SkillSecurityError
from skillkit.integrations.mcp import SkillServer
from skillkit.integrations.mcp.http import http_app, is_loopback
from skillkit.journal import JournalReader, Kind

AGENT = str(Path(sys.executable).with_name("agent"))
TOKEN = "a-token-of-some-length"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}}
HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}


@pytest.fixture
def skills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library that the user has decided to use as it is."""
    monkeypatch.setenv("AGENT_SKILLS", "all-untrusted")
    return friendly(tmp_path / "library").folder


@asynccontextmanager
async def served(*arguments: str, **environment: str) -> AsyncIterator[str]:
    """The address of a server that was started with `arguments`."""
    process = await asyncio.create_subprocess_exec(
        AGENT,
        "serve",
        "--mcp",
        *arguments,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **environment},
    )
    assert process.stderr is not None
    try:
        said = ""
        while (found := re.search(r"at (http://\S+)\n", said)) is None:
            line = (await process.stderr.readline()).decode()
            assert line, said
            said += line
        yield found[1]
    finally:
        process.send_signal(signal.SIGINT)
        await process.stderr.read()
        await process.wait()


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_a_client_starts_the_server_and_loads_a_skill(
    skills: Path, era: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AGENT_HOME", str(tmp_path / "agent"))
    parameters = StdioServerParameters(
        command=AGENT, args=["serve", "--mcp", str(skills)], env=dict(os.environ), cwd=skills
    )
    async with Client(parameters, mode=era) as client:
        assert "- pdf-forms" in (client.session.instructions or "")
        answer: Any = await client.call_tool("load_skill", {"skill_id": "pdf-forms"})
        assert "Fill in" in answer.content[0].text
    recorded = [
        stored.event for stored in JournalReader(tmp_path / "agent" / "journal.sqlite").oldest_first()
    ]
    assert (Kind.LOADED, "pdf-forms") in [(event.kind, event.skill) for event in recorded]


async def test_over_http_on_loopback(skills: Path):
    async with served("--http", "127.0.0.1:0", str(skills)) as url, Client(url) as client:
        answer: Any = await client.call_tool("load_skill", {"skill_id": "tide-tables"})
        assert "harmonic constants" in answer.content[0].text


async def test_paths_of_this_machine_do_not_reach_clients_over_http(skills: Path):
    given = {"skill_name": "runner", "script_name": "echo"}
    async with served("--http", "127.0.0.1:0", "--scripts", str(skills)) as url, Client(url) as client:
        loaded: Any = await client.call_tool("load_skill", {"skill_id": "runner"})
        missing: Any = await client.call_tool("read_skill_resource", {"skill_id": "runner", "path": "../x"})
        tried = [loaded, missing, await client.call_tool("script_list", {})]
        tried.append(await client.call_tool("script_run", given))
        texts = [each.content[0].text for each in tried]
        started: Any = await client.get_prompt("runner")
        texts.append(started.messages[0].content.text)
        with pytest.raises(MCPError) as refused:
            await client.read_resource("skill://runner/scripts/../../x")
        texts.append(refused.value.error.message)
    assert "Base directory for this skill: skill://runner\n" in texts[0]
    assert "skill://runner/scripts/echo.py" in texts[2]
    assert not any(str(skills.parent) in text for text in texts), texts


PAGE = """
async ([url, token]) => {
  const headers = {
    "content-type": "application/json", accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2025-11-25", ...(token && {authorization: `Bearer ${token}`}),
  }
  const body = JSON.stringify({jsonrpc: "2.0", id: 1, method: "tools/list", params: {}})
  const answer = await fetch(url, {method: "POST", headers, body})
  return [answer.status, answer.headers.get("www-authenticate"), await answer.text()]
}
"""


@pytest.mark.slow
async def test_a_page_of_an_admitted_origin_can_call_from_a_real_browser(skills: Path):
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    browsers = pytest.importorskip("playwright.async_api")
    arguments = ["--http", "127.0.0.1:0", "--token-env", "WEB_TOKEN", "--origin", "http://app.example"]
    async with (
        served(*arguments, str(skills), WEB_TOKEN=TOKEN) as url,
        browsers.async_playwright() as playwright,
    ):

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<p>")
            writer.close()
            await writer.wait_closed()

        site = await asyncio.start_server(answer, "127.0.0.1", 0)
        here = f"--host-resolver-rules=MAP *.example 127.0.0.1:{site.sockets[0].getsockname()[1]}"
        browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", here])
        try:
            page = await browser.new_page()
            await page.goto("http://app.example/")
            status, _, text = await page.evaluate(PAGE, [url, TOKEN])
            assert (status, "load_skill" in text) == (200, True)
            status, wanted, _ = await page.evaluate(PAGE, [url, "wrong"])
            assert (status, wanted) == (401, "Bearer")
            await page.goto("http://evil.example/")
            with pytest.raises(browsers.Error, match="Failed to fetch"):
                await page.evaluate(PAGE, [url, TOKEN])
        finally:
            await browser.close()
            site.close()


async def test_what_the_user_does_not_trust_is_not_served(skills: Path):
    async with served("--http", "127.0.0.1:0", str(skills), AGENT_SKILLS="all") as url, Client(url) as client:
        uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
    assert "skill://index.json" in uris
    assert not any("pdf-forms" in uri for uri in uris)


GUARDED = [
    ({}, 200),
    ({"origin": "http://localhost:3000"}, 200),
    ({"origin": "https://evil.example"}, 403),
    ({"origin": "http://localhost.evil.example"}, 403),
    ({"origin": "null"}, 403),
    ({"host": "evil.example"}, 421),
    ({"host": "127.0.0.1.evil.example:80"}, 421),
]


async def test_requests_of_web_pages_are_refused(skills: Path):
    async with served("--http", "127.0.0.1:0", str(skills)) as url, httpx2.AsyncClient() as http:
        for headers, status in GUARDED:
            answer = await http.post(url, json=PING, headers={**HEADERS, **headers})
            assert answer.status_code == status, (headers, answer.text)


async def test_elsewhere_a_token_is_asked_for_and_names_the_client(skills: Path):
    arguments = ["--http", "0.0.0.0:0", "--token-env", "editor=EDITOR_TOKEN", "--allow", "editor=pdf-forms"]
    async with served(*arguments, str(skills), EDITOR_TOKEN=TOKEN) as everywhere:
        url = everywhere.replace("0.0.0.0", "127.0.0.1")
        async with httpx2.AsyncClient() as http:
            for header in ({}, {"authorization": "Bearer wrong"}, {"authorization": TOKEN}):
                answer = await http.post(url, json=PING, headers={**HEADERS, **header})
                assert answer.status_code == 401
                assert answer.headers["www-authenticate"] == "Bearer"
        async with (
            httpx2.AsyncClient(headers={"authorization": f"Bearer {TOKEN}"}) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
    assert uris == ["skill://pdf-forms/SKILL.md", "skill://index.json"]


async def test_scripts_run_by_what_the_user_has_granted(skills: Path):
    arguments = {"skill_name": "runner", "script_name": "echo", "args": ["a b"]}
    async with served("--http", "127.0.0.1:0", "--scripts", str(skills)) as url, Client(url) as client:
        answer: Any = await client.call_tool("script_run", arguments)
    payload = json.loads(answer.content[0].text.splitlines()[2])
    if payload["success"]:
        assert payload["result"] == {"arguments": ["a b"]}
        assert payload["meta"]["backend"] != "none"
    else:  # no sandbox on this machine, and no word of the user that it may run without
        assert payload["error"] == "permission_denied", payload


async def test_news_reach_clients_over_http(skills: Path):
    async with (
        served("--http", "127.0.0.1:0", str(skills)) as url,
        Client(url) as client,
        client.listen(resources_list_changed=True) as news,
    ):
        (skills / "new").mkdir()
        (skills / "new" / "SKILL.md").write_text("---\nname: new\ndescription: New.\n---\n")
        async with asyncio.timeout(60):
            async for event in news:
                assert type(event).__name__ == "ResourcesListChanged"
                break
        uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
    assert "skill://new/SKILL.md" in uris


async def agent(*arguments: str, **environment: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        AGENT,
        "serve",
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **environment},
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--mcp", "--http", "0.0.0.0:0"], 4, "without a token"),
        (["--mcp", "--http", "0.0.0.0:0", "--token-env", "WEAK"], 4, "fewer than 16"),
        (["--mcp", "--http", "127.0.0.1:0", "--token-env", "NOT_SET"], 1, "NOT_SET is empty"),
        (["--mcp", "--http", "nowhere:at:all"], 2, "HOST:PORT"),
        (["--mcp", "--allow", "everything"], 2, "CLIENT=SKILLS"),
        ([], 2, "--mcp"),
    ],
)
def test_what_cannot_be_served_is_said(run_agent, arguments: list[str], code: int, said: str):
    refused = run_agent("serve", *arguments, WEAK="short")
    assert said in " ".join(refused.stderr.split())
    assert refused.returncode == code


async def test_the_configuration_of_clients_can_be_read_by_them(tmp_path: Path):
    given = ["--mcp", "--scripts", "--no-watch", "--allow", "editor=pdf,csv", str(tmp_path)]
    _, out, _ = await agent(*given, "--print-config", AGENT_SKILLS="all", OPENAI_API_KEY="secret")
    assert "secret" not in out
    page = (Path(__file__).parents[3] / "docs" / "integrations.md").read_text(encoding="utf-8")
    assert f"$ agent serve --mcp --print-config\n{out.splitlines()[0]}\n" in page
    parts = dict(re.findall(r"^# (.+?): .*\n((?:.+\n)+)", out, re.MULTILINE))
    assert set(parts) >= {
        "Claude Code",
        "Claude Desktop",
        "Cursor",
        "Gemini CLI",
        "VS Code",
        "Codex",
        "opencode",
    }
    started = {"command": AGENT, "args": ["serve", *given], "env": {"AGENT_SKILLS": "all"}}
    assert json.loads(parts["Claude Code"]) == {"mcpServers": {"skills": started}}
    assert json.loads(parts["VS Code"]) == {"servers": {"skills": started}}
    assert tomllib.loads(parts["Codex"]) == {"mcp_servers": {"skills": started}}


async def test_a_folder_whose_skills_are_not_served_is_said(skills: Path):
    for chosen, reason in {"": "not enabled", "all": "not trusted"}.items():
        code, _, err = await agent("--mcp", str(skills), AGENT_SKILLS=chosen)
        said = " ".join(err.split())
        assert (code, "Not served: not-trusted, pdf-forms, runner" in said, reason in said) == (0, True, True)
        assert "AGENT_SKILLS=all-untrusted" in said
    _, _, err = await agent("--mcp", str(skills))
    assert "Not served" not in err


def test_the_configuration_for_http_names_the_variable_of_the_token_not_the_token(run_agent):
    arguments = ["--mcp", "--http", "10.0.0.1:9", "--token-env", "MY_TOKEN", "--print-config"]
    out = run_agent("serve", *arguments, MY_TOKEN=TOKEN).stdout
    assert TOKEN not in out
    assert out.count("Bearer ${MY_TOKEN}") >= 5
    assert 'bearer_token_env_var = "MY_TOKEN"' in out


def test_an_app_for_other_machines_needs_a_good_token(tmp_path: Path):
    server = SkillServer(SkillManager(project_skill_dir=tmp_path, anthropic_config_dir=""))
    for tokens in (None, {}, {"editor": "short"}):
        with pytest.raises(SkillSecurityError):
            http_app(server, host="192.0.2.1", tokens=tokens)


@pytest.mark.parametrize(
    ("host", "local"),
    [
        *((host, True) for host in ("127.0.0.1", "127.8.8.8", "localhost", "::1", "[::1]")),
        *((host, False) for host in ("0.0.0.0", "::", "192.0.2.1", "example.org", "")),
    ],
)
def test_only_this_machine_is_loopback(host: str, local: bool):
    assert is_loopback(host) is local
