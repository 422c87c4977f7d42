"""The stock `apm`, Claude Code, ADK and FastMCP against a registry that really serves, on loopback."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from certificates import certificate
from program import clean_environment
from registering import packed, skill_files
from registry_server import Serving, serving
from stock_programs import from_npm, from_pypi

pytestmark = pytest.mark.slow
__all__ = ["certificate"]

APM, ADK, CLAUDE = "apm-cli==0.35.0", "google-adk==2.13.0", "@anthropic-ai/claude-code@2.1.197"
FASTMCP = "fastmcp==4.1.2"


def publish(server: Serving, name: str, version: str, text: str, **options: object) -> None:
    token = server.token("ada", "--owner", "acme", "--scope", "publish")
    address = f"{server.base}/api/skillkit/v1/acme?version={version}"
    headers = {"authorization": f"Bearer {token}"}
    content = packed(skill_files(name, text))
    httpx.post(address, content=content, headers=headers, timeout=60, **options).raise_for_status()  # type: ignore[arg-type]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    with serving(tmp_path / "server", "--hold", "none") as started:
        yield started


def test_apm_installs_a_range_frozen_sees_what_is_outdated_updates_and_publishes(
    tmp_path: Path, certificate, pytestconfig: pytest.Config
) -> None:
    import ssl

    public, _ = certificate
    packages = from_pypi(pytestconfig, APM)
    project, package = tmp_path / "project", tmp_path / "new-skill"
    tls = ("--tls-cert", str(public), "--tls-key", str(public.with_name("private.pem")))
    with serving(tmp_path / "server", "--hold", "none", "--private", *tls) as server:
        token = server.token("ada", "--owner", "acme", "--scope", "publish", "--scope", "read")
        trust = ssl.create_default_context(cafile=public)

        def apm(*words: str, cwd: Path = project) -> str:
            environment = clean_environment(
                tmp_path,
                PATH=os.environ["PATH"],
                PYTHONPATH=str(packages),
                REQUESTS_CA_BUNDLE=str(public),
                APM_REGISTRY_TOKEN_CORP=token,
                CI="1",
            )
            program = [
                sys.executable,
                "-c",
                "import sys; from apm_cli.entrypoint import main; sys.exit(main())",
            ]
            done = subprocess.run(
                [*program, *words],
                capture_output=True,
                text=True,
                check=False,
                cwd=cwd,
                env=environment,
                timeout=120,
            )
            return done.stdout + done.stderr

        registries = f"registries:\n  corp:\n    url: {server.base}/apm\n"
        wanted = f"name: app\nversion: 1.0.0\ntarget: codex\n{registries}dependencies:\n  apm:\n"
        project.mkdir()
        manifest = project / "apm.yml"
        entry = "    - id: acme/pdf-forms\n      version: '{}'\n      registry: corp\n"
        manifest.write_text(wanted + entry.format("^1.0.0"))
        for version in ("1.0.0", "1.1.0", "2.0.0"):
            publish(server, "pdf-forms", version, f"text of {version}", verify=trust)
        apm("experimental", "enable", "registries")
        apm("config", "set", "registry.corp.url", f"{server.base}/apm")  # else it keeps its token back
        said = apm("install")

        def text() -> str:
            found = [path for path in project.rglob("SKILL.md") if "pdf-forms" in str(path)]
            return found[0].read_text() if found else ""

        assert "text of 1.1.0" in text(), said
        for folder in project.iterdir():
            if folder.is_dir():
                shutil.rmtree(folder)
        said = apm("install", "--frozen")
        assert "text of 1.1.0" in text(), said
        manifest.write_text(wanted + entry.format(">=1.0.0"))
        said = apm("outdated")
        assert "2.0.0" in said, said
        said = apm("update", "--yes")
        assert "text of 2.0.0" in text(), said
        (package / ".apm" / "skills" / "new-skill").mkdir(parents=True)
        (package / ".apm" / "skills" / "new-skill" / "SKILL.md").write_text(
            skill_files("new-skill")["SKILL.md"]
        )
        (package / "apm.yml").write_text(f"name: new-skill\nversion: 0.1.0\ndescription: d\n{registries}")
        said = apm("publish", "--package", "acme/new-skill", cwd=package)
        listed = json.loads(server.agent("registry", "status", "--json").stdout)
        assert listed["versions"]["published"] == 4, said


def test_claude_code_adds_the_marketplace_installs_and_updates(
    server: Serving, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    program = from_npm(pytestconfig, CLAUDE) / ".bin" / "claude"

    def claude(*words: str) -> str:
        environment = clean_environment(tmp_path, PATH=os.environ["PATH"], DISABLE_AUTOUPDATER="1")
        environment |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1"}
        done = subprocess.run(
            [str(program), "plugin", *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            timeout=120,
        )
        return done.stdout + done.stderr

    def texts() -> str:
        return "".join(path.read_text() for path in (tmp_path / ".claude").rglob("SKILL.md"))

    publish(server, "pdf-forms", "1.0.0", "text one")
    said = claude("marketplace", "add", f"{server.base}/claude/acme/marketplace.json")
    said += claude("install", "pdf-forms@acme")
    assert "text one" in texts(), said
    publish(server, "pdf-forms", "1.1.0", "text two")
    said = claude("marketplace", "update", "acme") + claude("update", "pdf-forms@acme")
    assert "text two" in texts(), said


def test_adk_searches_and_gets_a_skill(server: Serving, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    packages = from_pypi(pytestconfig, ADK)
    publish(server, "pdf-forms", "1.0.0", "text one")
    token = server.token("bot", "--scope", "read")
    script = f"""
import asyncio
from google.oauth2.credentials import Credentials
from google.adk.integrations.skill_registry import GCPSkillRegistry

async def main():
    registry = GCPSkillRegistry(project_id="corp", location="local", credentials=Credentials(token={token!r}))
    found = await registry.search_skills(query="pdf")
    skill = await registry.get_skill(name=found[0].name)
    print([each.name for each in found], skill.instructions)

asyncio.run(main())
"""
    endpoint = {"AGENT_REGISTRY_ENDPOINT": f"{server.base}/adk", "PYTHONPATH": str(packages)}
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=clean_environment(tmp_path, PATH=os.environ["PATH"], **endpoint),
        timeout=120,
    )
    assert "acme.pdf-forms" in done.stdout, done.stderr
    assert "text one" in done.stdout


def test_fastmcp_reads_the_manifest_and_downloads_a_skill(
    server: Serving, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    packages = from_pypi(pytestconfig, FASTMCP)
    publish(server, "pdf-forms", "1.0.0", "text one")
    script = f"""
import asyncio
from fastmcp import Client
from fastmcp.utilities.skills import download_skill, get_skill_manifest, list_skills

async def main():
    async with Client("{server.base}/mcp/acme") as client:
        print([each.name for each in await list_skills(client)])
        print([each.path for each in (await get_skill_manifest(client, "pdf-forms")).files])
        await download_skill(client, "pdf-forms", "downloaded")

asyncio.run(main())
"""
    environment = clean_environment(tmp_path, PATH=os.environ["PATH"], PYTHONPATH=str(packages))
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
        timeout=120,
    )
    assert done.stdout.split() == ["['pdf-forms']", "['SKILL.md']"], done.stderr
    assert "text one" in (tmp_path / "downloaded/pdf-forms/SKILL.md").read_text()
