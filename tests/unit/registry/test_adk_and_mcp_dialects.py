"""What ADK's registry client and clients of MCP ask for, and what they are answered with."""

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from registering import Workshop, skill_files
from starlette.testclient import TestClient

SKILLS = "/adk/projects/corp/locations/local/skills"


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    made = Workshop(tmp_path)
    made.token("eve", "other")
    made.publish(made.token(), skill_files("pdf-forms", "one", scripts__fill_py="print(1)\n"), "1.0.0")
    made.publish(made.token("eve", "other"), skill_files("notes"), "1.0.0", "other")
    return made


def call(client: TestClient, address: str, method: str, **parameters: str) -> Any:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
    return client.post(address, json=message).json()


def test_adk_searches_and_gets_a_skill(workshop: Workshop) -> None:
    client = workshop.client()
    (found,) = client.post(f"{SKILLS}:search", json={"search_string": "pdf"}).json()["skills"]
    assert found["name"] == f"{SKILLS[5:]}/acme.pdf-forms"
    skill = client.get(f"/adk/{found['name']}").json()
    assert skill["defaultRevision"] == f"{found['name']}/revisions/1.0.0"
    archive = client.get(f"/adk/{skill['defaultRevision']}?alt=media")
    with zipfile.ZipFile(io.BytesIO(archive.content)) as opened:
        assert "SKILL.md" in opened.namelist()
    missing = client.get(f"{SKILLS}/acme.none")
    assert (missing.status_code, missing.json()["error"]["status"]) == (404, "NOT_FOUND")


def test_mcp_lists_the_skills_of_an_owner_with_their_files(workshop: Workshop) -> None:
    client = workshop.client()
    begun = call(client, "/mcp/acme", "initialize", protocolVersion="2025-06-18")["result"]
    assert (begun["protocolVersion"], begun["capabilities"]) == ("2025-06-18", {"resources": {}})
    told = client.post("/mcp/acme", json={"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (told.status_code, told.content) == (202, b"")
    uris = [each["uri"] for each in call(client, "/mcp/acme", "resources/list")["result"]["resources"]]
    assert uris == ["skill://pdf-forms/SKILL.md", "skill://pdf-forms/_manifest"]
    (content,) = call(client, "/mcp/acme", "resources/read", uri=uris[0])["result"]["contents"]
    assert "one" in content["text"]
    (manifest,) = call(client, "/mcp/acme", "resources/read", uri=uris[1])["result"]["contents"]
    assert '"path":"scripts/fill.py"' in manifest["text"]
    (script,) = call(client, "/mcp/acme", "resources/read", uri="skill://pdf-forms/scripts/fill.py")[
        "result"
    ]["contents"]
    assert script["text"] == "print(1)\n"
    strange = ("skill://other.pdf-forms/SKILL.md", "skill://pdf-forms/none", "x")
    for uri in ("skill://notes/SKILL.md", "skill://other.notes/SKILL.md", *strange):
        assert "error" in call(client, "/mcp/acme", "resources/read", uri=uri), uri
    assert call(client, "/mcp/acme", "tools/list")["error"]["code"] == -32601


def test_mcp_lists_what_a_token_may_read(workshop: Workshop) -> None:
    workshop.registry.add_owner("lab", workshop.caller(workshop.token()), private=True)
    token = workshop.token("ada", "lab")
    workshop.publish(token, skill_files("secret"), "1.0.0", "lab")

    def names(client: TestClient) -> set[str]:
        listed = call(client, "/mcp", "resources/list")["result"]["resources"]
        return {each["uri"] for each in listed if each["uri"].endswith("/SKILL.md")}

    public = {"skill://acme.pdf-forms/SKILL.md", "skill://other.notes/SKILL.md"}
    assert names(workshop.client()) == public
    assert names(workshop.client(token)) == {*public, "skill://lab.secret/SKILL.md"}
    read = call(workshop.client(), "/mcp", "resources/read", uri="skill://lab.secret/SKILL.md")
    assert (
        read["error"]
        == call(workshop.client(), "/mcp", "resources/read", uri="skill://lab.x/SKILL.md")["error"]
    )
