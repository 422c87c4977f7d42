"""Documents that only holders of the fleet's key can read or make: they carry grants and secrets."""

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

from skillkit.core.codec import encode
from skillkit.core.disk import agent_home, make_folder, replace_file
from skillkit.core.exceptions import ConfigurationError, SkillsUseError
from skillkit.core.foreign_json import parse_json

SETTING = "SKILLKIT_FLEET_KEYS"
MAX_AGE = 3600.0
"""Seconds between sealing and opening; clocks of machines may differ by as much."""
_NONCE = 12
_KEY = re.compile(r"(?P<name>[A-Za-z0-9_.-]{1,32}):(?P<key>[0-9a-f]{64})")


class SealError(SkillsUseError):
    """A document that is altered, replayed, too old, for somebody else, or sealed with another key."""


@dataclass(frozen=True, slots=True)
class Label:
    """What stands on a sealed document and is bound to it."""

    run: str
    tenant: str
    digest: str
    worker: str
    """The one worker process that may open it; a restarted one has another name."""
    slot: str = ""
    """By which the dispatcher knows where it runs."""
    kind: str = "request"
    keep: float = 0.0
    """Seconds for which the result is kept when the client is gone; 0 ends the run with its client."""
    follow: bool = False
    """Whether the output is wanted while the script runs."""
    issued: float = 0.0
    id: str = ""
    """Of this one document."""


class FleetKeys:
    """The keys that the machines of a fleet share: the first seals, every one opens."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        if not keys:
            raise ConfigurationError("A fleet needs at least one key", SETTING)
        self._keys = dict(keys)

    @classmethod
    def read(cls, path: Path | None = None) -> "FleetKeys":
        """Return the keys in a file of lines `name:64 hexadecimal digits`; it must be closed to others."""
        path = path or keys_path()
        try:
            mode, text = os.stat(path).st_mode, path.read_text(encoding="ascii", errors="replace")
        except OSError as error:
            raise ConfigurationError(
                f"There is no key file {path} ({error.strerror}). Every machine of a fleet needs "
                f"the same one: make it once, copy it, and name it in {SETTING} where it lies elsewhere",
                SETTING,
            ) from error
        if mode & 0o077:
            raise ConfigurationError(
                f"The key file {path} can be read by others; close it with: chmod 600 {path}", SETTING
            )
        keys = {}
        for number, line in enumerate(text.split(), 1):
            found = _KEY.fullmatch(line)
            if found is None:
                raise ConfigurationError(f"{path}, line {number}: not 'name:64 hexadecimal digits'", SETTING)
            keys[found["name"]] = bytes.fromhex(found["key"])
        return cls(keys)

    def seal(self, label: Label, content: bytes) -> bytes:
        """Return `content` so that nobody else reads it, and no word of the label can be changed."""
        name = next(iter(self._keys))
        unique = replace(label, issued=time.time(), id=os.urandom(16).hex())
        head = json.dumps({"key": name, **encode(unique)}).encode()
        nonce = os.urandom(_NONCE)
        cipher = _cipher(self._keys[name], label.tenant)
        return len(head).to_bytes(4, "big") + head + nonce + cipher.encrypt(nonce, content, head)

    def open(self, sealed: bytes) -> tuple[Label, bytes]:
        """Return what was sealed and its label; SealError if any byte of it is not as it was made."""
        size = int.from_bytes(sealed[:4], "big")
        head, body = sealed[4 : 4 + size], sealed[4 + size :]
        try:
            words = parse_json(head)
            key = self._keys.get(words.pop("key"))
            label = Label(**words)
            if key is None:
                raise SealError("A document sealed with a key that is not (or no longer) ours")
            cipher = _cipher(key, label.tenant)
            return label, cipher.decrypt(body[:_NONCE], body[_NONCE:], head)
        except (InvalidTag, ValueError, TypeError, KeyError, AttributeError) as error:
            raise SealError("A document that was altered on its way") from error


@dataclass(slots=True)
class RequestGuard:
    """Lets each document into one worker process, once."""

    keys: FleetKeys
    worker: str
    clock: Callable[[], float] = time.time
    _seen: OrderedDict[str, float] = field(default_factory=OrderedDict)

    def admit(self, sealed: bytes) -> tuple[Label, bytes]:
        """Return the request in a document; SealError if it is not for here, not new, or was seen before."""
        label, content = self.keys.open(sealed)
        if label.kind != "request" or label.worker != self.worker:
            raise SealError("A document for another worker")
        now = self.clock()
        if abs(now - label.issued) > MAX_AGE:
            raise SealError(
                f"A document older than {MAX_AGE:g} s, or the clocks of the machines differ by that"
            )
        if label.id in self._seen:
            raise SealError("A document that was used before")
        self._seen[label.id] = now
        while next(iter(self._seen.values())) < now - 2 * MAX_AGE:
            self._seen.popitem(last=False)
        return label, content


def keys_path() -> Path:
    """Where the fleet's keys are on this machine."""
    return Path(os.path.expanduser(os.environ.get(SETTING) or agent_home() / "fleet.keys"))


def add_key(path: Path | None = None) -> str:
    """Put a new key first, so that it seals from now on and the older ones still open; return its name."""
    path = path or keys_path()
    older = path.read_text(encoding="ascii").split() if path.exists() else []
    name = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    while any(line.startswith(f"{name}:") for line in older):
        name += "x"
    make_folder(path.parent)
    replace_file(path, "\n".join([f"{name}:{os.urandom(32).hex()}", *older, ""]).encode(), 0o600)
    return name


@lru_cache(maxsize=1024)
def _cipher(key: bytes, tenant: str) -> AESGCM:
    """One key a tenant: a nonce that repeats across tenants gives nothing away."""
    return AESGCM(HKDF(SHA256(), 32, salt=None, info=b"skillkit fleet " + tenant.encode()).derive(key))
