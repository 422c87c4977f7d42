"""What the user agreed to take from MCP servers."""

import contextlib
import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from skillkit.core.exceptions import SkillsUseError
from skillkit.core.sources import agent_home


class Consents:
    """What the user agreed to: server, URI, digest; kept in a file outside of every project."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or agent_home() / "mcp-consents.json"

    def digest(self, server: str, uri: str) -> str | None:
        return self._read().get(server, {}).get(uri)

    def record(self, server: str, uri: str, digest: str | None) -> None:
        """Remember a consent, or forget it when `digest` is None."""
        with self._locked():
            data = self._read()
            of_server = data.setdefault(server, {})
            if digest is None:
                of_server.pop(uri, None)
            else:
                of_server[uri] = digest
            descriptor, name = tempfile.mkstemp(dir=self.path.parent, prefix=".mcp-consents-")
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(data, file, indent=2)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, self.path)

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

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path.with_suffix(".lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
