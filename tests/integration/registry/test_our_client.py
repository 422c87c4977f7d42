"""`agent skill publish`, `add`, `outdated` and `update` against a registry that really serves."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from registering import packed, skill_files
from registry_databases import kind_of_database, new_place, postgres_server
from registry_server import agent, serving

from skillkit.install.sources.download import token_name

pytestmark = pytest.mark.slow
__all__ = ["kind_of_database", "postgres_server"]


def places(folder: Path) -> tuple[str, ...]:
    return ("--database", new_place(folder), "--blobs", str(folder / "blobs"))


def write(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def test_publish_hold_approve_add_outdated_and_update(tmp_path: Path) -> None:
    home, folder = tmp_path / "user", tmp_path / "pdf-forms"
    with serving(tmp_path / "server", "--private", places=places(tmp_path)) as server:
        secret = server.token("ada", "--owner", "acme", "--scope", "publish", "--scope", "read")
        place = f"{server.base}/acme"
        write(folder, skill_files("pdf-forms", "one"))
        refused = agent(home, "skill", "publish", str(folder), "--to", place)
        assert f"agent secret set {token_name(server.base)}" in refused.stderr
        assert agent(home, "secret", "set", token_name(server.base), given=f"{secret}\n").returncode == 0
        held = agent(home, "skill", "publish", str(folder), "--to", place)
        assert "acme/pdf-forms@1.0.0 is held." in held.stdout, held.stderr
        assert "the first version of acme" in held.stdout
        assert "agent registry review approve acme/pdf-forms@1.0.0" in held.stderr
        done = server.agent("registry", "review", "approve", "acme/pdf-forms@1.0.0")
        assert "is published" in done.stdout, done.stderr
        added = agent(home, "skill", "add", f"{place}/pdf-forms", "--yes", "--trusted")
        assert added.returncode == 0, added.stderr
        assert agent(home, "skill", "outdated").returncode == 0
        write(folder, skill_files("pdf-forms", "two"))
        published = agent(home, "skill", "publish", str(folder), "--to", place, "--json")
        assert json.loads(published.stdout)["state"] == "published", published.stdout
        again = agent(home, "skill", "publish", str(folder), "--to", place, "--version", "1.0.1")
        assert again.stderr.endswith(f"To install it:\nagent skill add {place}/pdf-forms\n"), again.stderr
        conflict = agent(home, "skill", "publish", str(folder), "--to", place, "--version", "1.0.0")
        assert "Version 1.0.0 already exists" in conflict.stderr
        away = (tmp_path / "blobs").rename(tmp_path / "away")  # no archive is asked for
        outdated = json.loads(agent(home, "skill", "outdated", "--json").stdout)["skills"][0]
        assert (outdated["outdated"], outdated["latest"]) == (True, "1.0.1"), outdated
        away.rename(tmp_path / "blobs")
        assert agent(home, "skill", "update", "pdf-forms", "--yes", "--trusted").returncode == 0
        assert "two" in (home / ".agent" / "skills" / "pdf-forms" / "SKILL.md").read_text()
        stranger = agent(tmp_path / "stranger", "skill", "add", f"{place}/pdf-forms", "--yes", "--trusted")
        assert stranger.returncode != 0
        server.agent("registry", "yank", "acme/pdf-forms@1.0.1", "--reason", "a typing error")
        yanked = agent(home, "skill", "publish", str(folder), "--to", place)
        assert (yanked.returncode, "is yanked (it was there already)." in yanked.stdout) == (1, True)


def test_the_operator_reads_names_and_numbers(tmp_path: Path) -> None:
    with serving(tmp_path / "server", places=places(tmp_path)) as server:
        assert server.agent("registry", "review", "list").stderr == "Nothing is waiting for review.\n"
        assert re.search(r"^Versions +0$", server.agent("registry", "status").stdout, re.MULTILINE)
        missing = server.agent("registry", "yank", "acme/nothing@1.0.0")
        assert "acme/nothing@1.0.0 not found in " in missing.stderr
        assert "No token 7. All tokens: agent registry token list" in (
            server.agent("registry", "token", "revoke", "7").stderr
        )


def test_skills_are_added_by_a_range_of_apm_and_from_mcp(tmp_path: Path) -> None:
    home = tmp_path / "user"
    with serving(tmp_path / "server", "--hold", "none", places=places(tmp_path)) as server:
        headers = {"authorization": f"Bearer {server.token('ada', '--owner', 'acme', '--scope', 'publish')}"}
        address = f"{server.base}/api/skillkit/v1/acme"
        for version in ("1.0.0", "1.1.0", "2.0.0"):
            body = packed(skill_files("pdf-forms", f"text of {version}"))
            sent = httpx.post(f"{address}?version={version}", content=body, headers=headers)
            assert sent.status_code == 201, sent.text
        httpx.post(address, content=packed(skill_files("notes")), headers=headers).raise_for_status()
        ranged = f"apm:acme/pdf-forms@^1.0.0#{server.base}/apm"
        added = agent(home, "skill", "add", ranged, "--yes", "--trusted")
        assert added.returncode == 0, added.stderr
        assert "text of 1.1.0" in (home / ".agent" / "skills" / "pdf-forms" / "SKILL.md").read_text()
        assert agent(home, "skill", "outdated").returncode == 0
        by_mcp = agent(
            home, "skill", "add", f"mcp:{server.base}/mcp/acme", "-s", "notes", "--yes", "--trusted"
        )
        assert (home / ".agent" / "skills" / "notes" / "SKILL.md").exists(), by_mcp.stderr


def test_an_internal_error_is_on_the_terminal_of_the_operator(tmp_path: Path) -> None:
    file = tmp_path / "registry.sqlite"
    with serving(tmp_path / "server", places=("--database", str(file))) as server:
        with closing(sqlite3.connect(file)) as database, database:
            database.execute("DROP TABLE search")
        assert httpx.get(f"{server.base}/api/search?q=x").status_code == 500
        server.process.terminate()
        assert "GET /api/search failed" in server.process.communicate(timeout=30)[1]
