"""A registry that speaks TLS itself, with a certificate of a local authority."""

import ssl
from pathlib import Path

import httpx
import pytest
from certificates import certificate
from registering import skill_files
from registry_server import agent, serving

from skillkit.install.sources.download import token_name

pytestmark = pytest.mark.slow
__all__ = ["certificate"]


def test_publishing_and_adding_over_tls(tmp_path: Path, certificate) -> None:
    public, _ = certificate
    tls = ("--tls-cert", str(public), "--tls-key", str(public.with_name("private.pem")))
    home, folder = tmp_path / "user", tmp_path / "pdf-forms"
    folder.mkdir()
    (folder / "SKILL.md").write_text(skill_files("pdf-forms")["SKILL.md"])
    with serving(tmp_path / "server", "--hold", "none", *tls) as server:
        assert server.base.startswith("https://127.0.0.1:")
        secret = server.token("ada", "--owner", "acme", "--scope", "publish")
        agent(home, "secret", "set", token_name(server.base), given=f"{secret}\n")
        trusting = {"SSL_CERT_FILE": str(public)}
        place = f"{server.base}/acme"
        foreign = agent(home, "skill", "publish", str(folder), "--to", place)
        assert foreign.returncode == 1, foreign.stdout  # the authority is not known
        done = agent(home, "skill", "publish", str(folder), "--to", place, **trusting)
        assert "is published" in done.stdout, done.stderr
        added = agent(home, "skill", "add", f"{place}/pdf-forms", "--yes", "--trusted", **trusting)
        assert added.returncode == 0, added.stderr
        trust = ssl.create_default_context(cafile=public)
        with httpx.Client(base_url=server.base, verify=trust, headers={"origin": server.base}) as browser:
            form = browser.get("/login").text.partition('name="form" value="')[2].partition('"')[0]
            entered = browser.post("/login", data={"form": form, "token": secret})
        assert "Secure" in entered.headers["set-cookie"]
