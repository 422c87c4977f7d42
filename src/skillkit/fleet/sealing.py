"""Documents that only holders of a fleet's keys can read or create: they contain grants and secrets."""

import hmac
import json
import os
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from skillkit.core.codec import decode, encode
from skillkit.core.disk import agent_home, make_folder, replace_file
from skillkit.core.exceptions import ConfigurationError, SkillsUseError
from skillkit.core.foreign_json import parse_json

SETTING = "SKILLKIT_FLEET_KEYS"
TENANT_SETTING = "SKILLKIT_FLEET_KEY"
OPERATOR = "operator"
"""The tenant whose key may read the whole status and drain machines."""
MAX_AGE = 3600.0
"""Limit in seconds between sealing and opening, which is also the tolerated clock difference."""
_NONCE = 12
_KEY = re.compile(r"(?P<name>[A-Za-z0-9_.-]{1,32}):(?P<key>[0-9a-f]{64})")
_TENANT_KEY = re.compile(rf"(?P<tenant>[A-Za-z0-9_.@-]{{1,64}}):{_KEY.pattern}")


class SealError(SkillsUseError, code="seal"):
    """A document that is altered, replayed, expired, for another recipient, or sealed with another key."""


@dataclass(frozen=True, slots=True)
class Label:
    """The unencrypted part of a sealed document, bound to its content."""

    run: str
    tenant: str
    digest: str
    kind: str = "request"
    worker: str = ""
    """On a gateway's request: the only process that may run it; a restarted worker has another name."""
    keep: float = 0.0
    """Seconds for which the result is kept after the program exits; 0 cancels the run with its program."""
    issued: float = 0.0
    id: str = ""
    """Unique id of this document."""


@dataclass(frozen=True, slots=True)
class TenantKey:
    """Key of one tenant: opens and seals that tenant's documents and no others."""

    tenant: str
    name: str
    """Name of the fleet key that it was derived from."""
    secret: bytes = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> "TenantKey":
        """Parse a key in the form `TENANT:NAME:64 hexadecimal digits`."""
        found = _TENANT_KEY.fullmatch(text.strip())
        if found is None:
            raise ConfigurationError(
                "Not a tenant's key: expected TENANT:NAME:64 hexadecimal digits. "
                "`agent fleet key --tenant NAME` on the gateway's machine prints one",
                TENANT_SETTING,
            )
        return cls(found["tenant"], found["name"], bytes.fromhex(found["key"]))

    @classmethod
    def read(cls, path: Path | None = None) -> "TenantKey":
        """Read the key from SKILLKIT_FLEET_KEY, or from a file that only its owner can read."""
        if path is None and (given := os.environ.get(TENANT_SETTING)):
            return cls.parse(given)
        path = path or tenant_key_path()
        return cls.parse(_read_private(path, f"Copy a tenant's key there, or set {TENANT_SETTING}"))

    @property
    def text(self) -> str:
        return f"{self.tenant}:{self.name}:{self.secret.hex()}"

    @property
    def token(self) -> str:
        """Return a token that proves possession of this key to the gateway, without revealing it."""
        return f"{self.tenant}:{self.name}:{_derive(self.secret, b'gateway').hex()}"

    def seal(self, label: Label, content: bytes) -> bytes:
        """Encrypt `content` and authenticate it together with the label."""
        unique = replace(label, tenant=self.tenant, issued=time.time(), id=label.id or os.urandom(16).hex())
        head = json.dumps({"key": self.name, **encode(unique)}).encode()
        nonce = os.urandom(_NONCE)
        sealed = AESGCM(self.secret).encrypt(nonce, content, head)
        return len(head).to_bytes(4, "big") + head + nonce + sealed

    def open(self, sealed: bytes) -> tuple[Label, bytes]:
        """Decrypt the content and return it with its label; SealError if any byte was altered."""
        name, label, head, body = _split(sealed)
        if (name, label.tenant) != (self.name, self.tenant):
            raise SealError("document sealed with another key")
        try:
            return label, AESGCM(self.secret).decrypt(body[:_NONCE], body[_NONCE:], head)
        except (InvalidTag, ValueError) as error:
            raise SealError("document altered in transit") from error


class FleetKeys:
    """The keys shared by gateway and machines: the first seals, each of them opens."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        if not keys:
            raise ConfigurationError("A fleet needs at least one key: run `agent fleet key`", SETTING)
        self._keys = dict(keys)

    @classmethod
    def read(cls, path: Path | None = None) -> "FleetKeys":
        """Read the keys from a file of lines `NAME:64 hexadecimal digits` that only its owner can read."""
        path = path or keys_path()
        text = _read_private(
            path, "Run `agent fleet key` on the gateway's machine, then copy the file to every machine"
        )
        keys = {}
        for number, line in enumerate(text.split(), 1):
            found = _KEY.fullmatch(line)
            if found is None:
                raise ConfigurationError(f"{path}, line {number}: not 'NAME:64 hexadecimal digits'", SETTING)
            keys[found["name"]] = bytes.fromhex(found["key"])
        return cls(keys)

    def tenant(self, tenant: str, name: str | None = None) -> TenantKey:
        """Derive a tenant's key from the first of the fleet's keys, or from the one called `name`."""
        name = next(iter(self._keys)) if name is None else name
        if name not in self._keys:
            raise SealError("document sealed with an unknown or revoked key")
        return TenantKey(tenant, name, _derive(self._keys[name], b"skillkit fleet " + tenant.encode()))

    def seal(self, label: Label, content: bytes) -> bytes:
        """Seal for the tenant in the label."""
        return self.tenant(label.tenant).seal(label, content)

    def open(self, sealed: bytes) -> tuple[Label, bytes]:
        """Open content sealed with any of the keys."""
        name, label, _, _ = _split(sealed)
        return self.tenant(label.tenant, name).open(sealed)

    def tenant_of(self, token: str) -> str | None:
        """Return the tenant whose key a token proves; None for an invalid token."""
        found = _TENANT_KEY.fullmatch(token)
        if found is None or found["name"] not in self._keys:
            return None
        proves = hmac.compare_digest(self.tenant(found["tenant"], found["name"]).token, token)
        return found["tenant"] if proves else None


@dataclass(slots=True)
class RequestGuard:
    """Admits each request of the gateway into one worker process, once."""

    keys: FleetKeys
    worker: str
    clock: Callable[[], float] = time.time
    _seen: OrderedDict[str, float] = field(default_factory=OrderedDict)

    def admit(self, sealed: bytes) -> tuple[Label, bytes]:
        """Return the sealed content; SealError for another worker, an expired or a repeated request."""
        label, content = self.keys.open(sealed)
        if label.kind != "request" or label.worker != self.worker:
            raise SealError("request for another worker")
        if abs(self.clock() - label.issued) > MAX_AGE:
            raise SealError(f"request older than {MAX_AGE:g} s, or the clocks of the machines differ by that")
        if label.id in self._seen:
            raise SealError("request used before")
        self.bar(label.id)
        return label, content

    def bar(self, document: str) -> None:
        """Refuse the request of this id from now on."""
        now = self.clock()
        self._seen[document] = now
        while next(iter(self._seen.values())) < now - 2 * MAX_AGE:
            self._seen.popitem(last=False)


def keys_path() -> Path:
    """Return the path of the fleet's keys on this machine."""
    return Path(os.path.expanduser(os.environ.get(SETTING) or agent_home() / "fleet.keys"))


def tenant_key_path() -> Path:
    """Return the path of a program's tenant key, used unless SKILLKIT_FLEET_KEY is set."""
    return agent_home() / "fleet.key"


def ray_token_path() -> Path:
    """Return the path at which Ray expects its token."""
    return Path(os.path.expanduser(os.environ.get("RAY_AUTH_TOKEN_PATH") or "~/.ray/auth_token"))


def add_key(path: Path | None = None) -> str:
    """Insert a new key as the first, which seals from now on; older keys still open. Return its name."""
    path = path or keys_path()
    older = path.read_text(encoding="ascii").split() if path.exists() else []
    name = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    while any(line.startswith(f"{name}:") for line in older):
        name += "x"
    write_private(path, "\n".join([f"{name}:{os.urandom(32).hex()}", *older, ""]))
    return name


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    make_folder(path.parent)
    replace_file(path, text.encode(), 0o600)


def check_private(path: Path) -> None:
    """Raise ConfigurationError if others can read the file at `path`."""
    if os.stat(path).st_mode & 0o077:
        raise ConfigurationError(f"{path} can be read by others; close it with: chmod 600 {path}", str(path))


def _read_private(path: Path, remedy: str) -> str:
    try:
        check_private(path)
        return path.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise ConfigurationError(f"No key file at {path} ({error.strerror}). {remedy}", str(path)) from error


def _split(sealed: bytes) -> tuple[str, Label, bytes, bytes]:
    """Split a document into key name, label, label bytes and body; none of them is authenticated yet."""
    size = int.from_bytes(sealed[:4], "big")
    head, body = sealed[4 : 4 + size], sealed[4 + size :]
    try:
        words = parse_json(head)
        return str(words.pop("key")), decode(Label, words), head, body
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise SealError("document altered in transit") from error


@lru_cache(maxsize=4096)
def _derive(key: bytes, purpose: bytes) -> bytes:
    return HKDF(SHA256(), 32, salt=None, info=purpose).derive(key)
