"""The repository of an owner, cloned by the real git from a server on loopback."""

import json
import os
import subprocess
from pathlib import Path

import httpx
import pytest
from program import clean_environment
from registering import packed, skill_files
from registry_databases import kind_of_database, new_place, postgres_server
from registry_server import serving

__all__ = ["kind_of_database", "postgres_server"]


def git(home: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    environment = clean_environment(home, GIT_TERMINAL_PROMPT="0", PATH=os.environ["PATH"])
    return subprocess.run(
        ["git", *words], capture_output=True, text=True, check=False, cwd=home, env=environment, timeout=120
    )


@pytest.mark.slow
def test_an_owner_is_cloned_at_a_tag_or_whole_updated_and_never_pushed_to(tmp_path: Path) -> None:
    home = tmp_path / "user"
    home.mkdir()
    places = ("--database", new_place(tmp_path), "--blobs", str(tmp_path / "blobs"))
    with serving(tmp_path / "server", "--hold", "none", places=places) as server:
        token = server.token("ada", "--owner", "acme", "--scope", "publish")

        def publish(version: str, text: str) -> None:
            sent = httpx.post(
                f"{server.base}/api/skillkit/v1/acme?version={version}",
                content=packed(skill_files("pdf-forms", text, scripts__fill_py="print(1)\n")),
                headers={"authorization": f"Bearer {token}"},
            )
            assert sent.status_code == 201, sent.text

        publish("1.0.0", "one")
        publish("1.1.0", "two")
        url = f"{server.base}/git/acme.git"
        listed = httpx.get(f"{server.base}/claude/acme/marketplace.json").json()
        (plugin,) = listed["plugins"]
        assert plugin["source"] == {
            "source": "git-subdir",
            "url": url,
            "path": "plugins/pdf-forms",
            "ref": "pdf-forms-v1.1.0",
        }
        pinned = git(home, "clone", "--depth", "1", "--branch", "pdf-forms-v1.0.0", url, "pinned")
        assert pinned.returncode == 0, pinned.stderr
        assert "one" in (home / "pinned/plugins/pdf-forms/skills/pdf-forms/SKILL.md").read_text()
        whole = git(home, "clone", url, "whole")
        assert whole.returncode == 0, whole.stderr
        plugins = json.loads((home / "whole/.claude-plugin/marketplace.json").read_text())["plugins"]
        assert plugins[0]["source"] == "./plugins/pdf-forms"
        assert git(home, "-C", "whole", "fsck", "--strict").returncode == 0
        publish("1.2.0", "three")
        fetched = git(home, "-C", "whole", "fetch", "--tags", "--force")
        assert fetched.returncode == 0, fetched.stderr
        shown = git(home, "-C", "whole", "show", "origin/main:plugins/pdf-forms/skills/pdf-forms/SKILL.md")
        assert "three" in shown.stdout, shown.stderr
        pushed = git(home, "-C", "whole", "push", "origin", "HEAD:refs/heads/mine")
        assert pushed.returncode != 0
        assert "403" in pushed.stderr
        assert git(home, "clone", f"{server.base}/git/nobody.git").returncode != 0
        server.agent("registry", "owner", "add", "lab", "--private")
        mine = server.token("lil", "--owner", "lab", "--scope", "publish")
        sent = httpx.post(
            f"{server.base}/api/skillkit/v1/lab",
            content=packed(skill_files("pdf-forms")),
            headers={"authorization": f"Bearer {mine}"},
        )
        assert sent.status_code == 201, sent.text
        private = f"http://lil:{mine}@{server.base.removeprefix('http://')}/git/lab.git"
        cloned = git(home, "clone", private, "private")
        assert cloned.returncode == 0, cloned.stderr
        other = httpx.get(f"{server.base}/git/lab.git/info/refs", params={"service": "git-upload-pack"})
        nobody = httpx.get(f"{server.base}/git/no.git/info/refs", params={"service": "git-upload-pack"})
        assert (other.status_code, other.text) == (nobody.status_code, nobody.text) == (401, other.text)
        assert git(home, "clone", private.replace(mine, token), "foreign").returncode != 0
        server.agent("registry", "yank", "acme/pdf-forms@1.2.0")
        refs = git(home, "ls-remote", url).stdout
        assert "pdf-forms-v1.1.0" in refs
        assert "v1.2.0" not in refs
