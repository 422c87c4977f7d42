"""Publishing one skill on a registry: its files as an archive, and the registry's answer."""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from skillkit.core.foreign_json import parse_json
from skillkit.core.limits import JSON_BYTES
from skillkit.core.text import escape_hidden, one_line
from skillkit.install.capabilities import Capabilities, capabilities
from skillkit.install.exceptions import AuthenticationError, InstallError, NetworkError, SourceError
from skillkit.install.fetch import manifest
from skillkit.install.publishing import pack
from skillkit.install.sources.registry_token import registry_token, token_name
from skillkit.install.sources.source import check_address
from skillkit.install.tree import SkillTree, read_folder

API = "/api/skillkit/v1/"
_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Upload:
    """A skill that is ready to be published, with its card."""

    tree: SkillTree
    name: str
    card: Capabilities

    @classmethod
    def of(cls, folder: Path) -> "Upload":
        """Read a skill's folder. Raises InstallError."""
        tree = read_folder(folder)
        if "SKILL.md" not in tree.files:
            raise InstallError(f"{folder} holds no SKILL.md")
        metadata = manifest(tree.skill_file, folder.absolute().name)
        return cls(tree, metadata.canonical_name, capabilities(tree, metadata))

    def send(self, place: str, version: str = "", changelog: str = "") -> dict[str, Any]:
        """Publish it as the owner at `place`, BASE/owner; return the registry's answer.

        What a registry refuses for reasons of its own is an answer, too: its `state` is `refused`.
        """
        parts = urlsplit(check_address(place))
        owner = parts.path.strip("/")
        if not owner or "/" in owner:
            raise SourceError(f"'{escape_hidden(place)}' is not an owner: write https://HOST/OWNER")
        base = f"{parts.scheme}://{parts.netloc}"
        token = registry_token(base)
        if token is None:
            raise AuthenticationError(f"{base} needs a token: agent secret set {token_name(base)}")
        given = {name: value for name, value in (("version", version), ("changelog", changelog)) if value}
        address = f"{base}{API}{quote(owner)}" + (f"?{urlencode(given)}" if given else "")
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/gzip",
            "User-Agent": "skillkit",
        }
        request = urllib.request.Request(address, pack(self.tree), headers, method="POST")
        return _answer(base, request)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None  # the token is for this server alone


def _answer(base: str, request: urllib.request.Request) -> dict[str, Any]:
    try:
        with urllib.request.build_opener(_NoRedirects).open(request, timeout=_SECONDS) as response:
            return _document(base, response.read(JSON_BYTES))
    except urllib.error.HTTPError as error:
        with error:
            body = error.read(JSON_BYTES)
        if error.code == 422:
            return _document(base, body)
        said = one_line(body.decode("utf-8", "replace"))[:500]
        kind = AuthenticationError if error.code in (401, 403) else InstallError
        raise kind(f"{base} answered {error.code}: {said}") from error
    except (urllib.error.URLError, HTTPException, OSError) as error:
        reason = escape_hidden(str(getattr(error, "reason", error)))
        raise NetworkError(f"{base} cannot be reached: {reason}") from error


def _document(base: str, body: bytes) -> dict[str, Any]:
    try:
        found = parse_json(body)
    except ValueError as error:
        raise NetworkError(f"{base} is not a registry that takes uploads") from error
    if not isinstance(found, dict) or not isinstance(found.get("state"), str):
        raise NetworkError(f"{base} is not a registry that takes uploads: {json.dumps(found)[:200]}")
    return found
