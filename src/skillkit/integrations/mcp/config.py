"""Configuration snippets for well-known clients."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of configuration and where it belongs."""

    client: str
    file: str
    text: str


def snippets(
    command: str,
    arguments: Sequence[str],
    *,
    url: str | None = None,
    token_env: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> list[Snippet]:
    """Return snippets for a server that the client starts (`command`, in `environment`), or one at `url`.

    A snippet never contains a token, only the name of its environment variable.
    """
    if url is None:
        env = dict(environment or {})
        started: dict[str, object] = {"command": command, "args": list(arguments)}
        servers = vscode = {**started, "env": env} if env else started
        codex = f"command = {json.dumps(command)}\nargs = {json.dumps(list(arguments))}"
        if env:
            codex += f"\nenv = {{ {', '.join(f'{name} = {json.dumps(env[name])}' for name in env)} }}"
        opencode: dict[str, object] = {"type": "local", "command": [command, *arguments]}
        if env:
            opencode["environment"] = env
    else:
        headers = {"Authorization": f"Bearer ${{{token_env}}}"} if token_env else {}
        more: dict[str, object] = {"headers": headers} if headers else {}
        servers = vscode = {"type": "http", "url": url, **more}
        codex = f"url = {json.dumps(url)}"
        if token_env:
            codex += f"\nbearer_token_env_var = {json.dumps(token_env)}"
        opencode = {"type": "remote", "url": url, **more}
    usual = _json({"mcpServers": {"skills": servers}})
    return [
        Snippet("Claude Code", ".mcp.json", usual),
        Snippet("Claude Desktop", "claude_desktop_config.json", usual),
        Snippet("Cursor", ".cursor/mcp.json", usual),
        Snippet("Gemini CLI", ".gemini/settings.json", usual),
        Snippet("VS Code", ".vscode/mcp.json", _json({"servers": {"skills": vscode}})),
        Snippet("Codex", "~/.codex/config.toml", f"[mcp_servers.skills]\n{codex}"),
        Snippet("opencode", "opencode.json", _json({"mcp": {"skills": opencode}})),
    ]


def _json(data: object) -> str:
    return json.dumps(data, indent=2)
