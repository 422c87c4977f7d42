"""What the user agreed to take from MCP servers."""

import json
from pathlib import Path

from skillkit.core.disk import agent_home, locked, replace_file
from skillkit.core.exceptions import SkillsUseError


class Consents:
    """What the user agreed to: server, URI, digest; kept in a file outside of every project."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or agent_home() / "mcp-consents.json"

    def digest(self, server: str, uri: str) -> str | None:
        return self._read().get(server, {}).get(uri)

    def record(self, server: str, uri: str, digest: str | None) -> None:
        """Remember a consent, or forget it when `digest` is None."""
        with locked(self.path.with_suffix(".lock")):
            data = self._read()
            of_server = data.setdefault(server, {})
            if digest is None:
                of_server.pop(uri, None)
            else:
                of_server[uri] = digest
            replace_file(self.path, json.dumps(data, indent=2).encode(), 0o600)

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            data = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise SkillsUseError(
                f"Cannot read the consents in {self.path}: {error}. Move it aside."
            ) from error
        return data if isinstance(data, dict) else {}
