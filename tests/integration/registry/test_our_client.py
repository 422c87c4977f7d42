"""`agent skill publish`, `add`, `outdated` and `update` against a registry that really serves."""

import json
from pathlib import Path

import pytest
from registering import skill_files
from registry_server import agent, serving

from skillkit.install.sources.registry_token import token_name

pytestmark = pytest.mark.slow


def write(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def test_publish_hold_approve_add_outdated_and_update(tmp_path: Path) -> None:
    home, folder = tmp_path / "user", tmp_path / "pdf-forms"
    with serving(tmp_path / "server", "--private") as server:
        secret = server.token("ada", "--owner", "acme", "--scope", "publish", "--scope", "read")
        place = f"{server.base}/acme"
        write(folder, skill_files("pdf-forms", "one"))
        refused = agent(home, "skill", "publish", str(folder), "--to", place)
        assert f"agent secret set {token_name(server.base)}" in refused.stderr
        assert agent(home, "secret", "set", token_name(server.base), given=f"{secret}\n").returncode == 0
        held = agent(home, "skill", "publish", str(folder), "--to", place)
        assert "acme/pdf-forms@1.0.0 is held." in held.stdout, held.stderr
        assert "the first version of acme" in held.stdout
        done = server.agent("registry", "review", "approve", "acme/pdf-forms@1.0.0")
        assert "is published" in done.stdout, done.stderr
        added = agent(home, "skill", "add", f"{place}/pdf-forms", "--yes", "--trusted")
        assert added.returncode == 0, added.stderr
        assert agent(home, "skill", "outdated").returncode == 0
        write(folder, skill_files("pdf-forms", "two"))
        published = agent(home, "skill", "publish", str(folder), "--to", place, "--json")
        assert json.loads(published.stdout)["state"] == "published", published.stdout
        conflict = agent(home, "skill", "publish", str(folder), "--to", place, "--version", "1.0.0")
        assert "Version 1.0.0 already exists" in conflict.stderr
        outdated = json.loads(agent(home, "skill", "outdated", "--json").stdout)["skills"][0]
        assert (outdated["outdated"], outdated["latest"]) == (True, "1.0.1"), outdated
        assert agent(home, "skill", "update", "pdf-forms", "--yes", "--trusted").returncode == 0
        assert "two" in (home / ".agent" / "skills" / "pdf-forms" / "SKILL.md").read_text()
        stranger = agent(tmp_path / "stranger", "skill", "add", f"{place}/pdf-forms", "--yes", "--trusted")
        assert stranger.returncode != 0
