"""Tokens, device logins, upload tickets and rate limits."""

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

from skillkit.core.limits import SKILL_BYTES, SKILL_FILES
from skillkit.registry.access import PATH, PUBLISH, READ, REVIEW, SCOPES, Caller, Grant
from skillkit.registry.database import Row
from skillkit.registry.exceptions import MissingError, RejectedError, TooManyError
from skillkit.registry.store import Registry

TICKET_SECONDS = DEVICE_SECONDS = 600
DEVICE_INTERVAL = 2
"""Seconds between two polls of a device; one that polls twice as often gets `slow_down`."""
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
"""Letters of user codes; without vowels they spell no words."""
MAX_DEVICES = 1000
MAX_CALLERS = 10_000
_PREFIX = "skr_"
_VALID = "revoked IS NULL AND (expires IS NULL OR expires > ?)"


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


class Accounts:
    """Tokens, devices and tickets; a secret is returned once and stored as a hash."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.database = registry.database

    # Tokens

    def add_token(
        self,
        actor: Caller,
        user: str,
        scopes: Sequence[str],
        owner: str = "",
        *,
        days: float | None = None,
    ) -> str:
        """Create a token and return its secret; create the owner if it does not exist.

        It expires no later than the token of the actor.
        """
        unknown = sorted(set(scopes) - set(SCOPES))
        if unknown or not scopes:
            raise RejectedError(f"Unknown scope: use {', '.join(SCOPES)}")
        if PATH in scopes and len(scopes) > 1:
            raise RejectedError("A token for a secret path has no other scope")
        if not user.strip() or not user.isprintable() or len(user) > 100:
            raise RejectedError("A token needs a user name of 1 to 100 printable characters")
        found = self.registry.owner(owner) if owner else None
        number = found["id"] if found else self.registry.add_owner(owner, actor) if owner else None
        secret = _PREFIX + secrets.token_urlsafe(32)
        expires = None if days is None else time.time() + days * 86400
        own = self.database.row("SELECT expires FROM token WHERE id = ?", actor.token)
        if own and own["expires"]:
            expires = min(expires or own["expires"], own["expires"])
        with self.database.writing():
            self._insert(secret, user.strip(), scopes, number, expires)
            allowed = f"{' '.join(scopes)} for {owner or 'every owner'}"
            self.registry.record(actor, "token added", number, user, allowed)
        return secret

    def _insert(
        self, secret: str, user: str, scopes: Sequence[str], owner: int | None, expires: float | None
    ) -> int:
        return self.database.insert(
            "token",
            {
                "hash": _hash(secret),
                "user": user,
                "scopes": " ".join(scope for scope in SCOPES if scope in scopes),
                "owner": owner,
                "created": time.time(),
                "expires": expires,
            },
        )

    def tokens(self, caller: Caller) -> list[Row]:
        """Return the tokens of the caller's user; all of them for a reviewer of all owners."""
        rows = self.database.rows(
            'SELECT token.id, token."user", token.scopes, token.created, token.expires, token.revoked,'
            " owner.name AS owner FROM token LEFT JOIN owner ON owner.id = token.owner ORDER BY token.id"
        )
        return [row for row in rows if caller.has(REVIEW) or (caller.user and row["user"] == caller.user)]

    def revoke(self, actor: Caller, token: int) -> None:
        if not any(row["id"] == token for row in self.tokens(actor)):
            raise MissingError
        with self.database.writing() as database:
            database.run("UPDATE token SET revoked = ? WHERE id = ? AND revoked IS NULL", time.time(), token)
            row = database.row('SELECT "user", owner FROM token WHERE id = ?', token)
            assert row is not None
            self.registry.record(actor, "token revoked", row["owner"], row["user"], f"token {token}")

    def caller(self, secret: str, *, in_path: bool = False) -> Caller | None:
        """Return the holder of a token, None if it is unknown, expired, revoked or of the other kind."""
        row = self.database.row(
            f"SELECT * FROM token WHERE hash = ? AND {_VALID}", _hash(secret), time.time()
        )
        if row is None or (PATH in row["scopes"].split()) != in_path:
            return None
        return Caller(row["user"], _grants([row]), row["id"])

    def user(self, name: str) -> Caller | None:
        """Return the user that a reverse proxy names, with the grants of all their tokens."""
        rows = self.database.rows(f'SELECT * FROM token WHERE "user" = ? AND {_VALID}', name, time.time())
        rows = [row for row in rows if PATH not in row["scopes"].split()]
        return Caller(name, _grants(rows), rows[0]["id"] if rows else None) if name else None

    # Device login

    def begin_device(self, label: str) -> tuple[str, str]:
        """Return the device code and the user code."""
        device = secrets.token_urlsafe(32)
        letters = "".join(secrets.choice(_LETTERS) for _ in range(8))
        code = f"{letters[:4]}-{letters[4:]}"
        now = time.time()
        with self.database.writing() as database:
            database.run("DELETE FROM device WHERE expires < ?", now)
            count = database.row("SELECT COUNT(*) AS count FROM device")
            if count and count["count"] >= MAX_DEVICES:
                raise TooManyError(60)
            values = {
                "hash": _hash(device),
                "user_code": code,
                "label": label[:100],
                "expires": now + DEVICE_SECONDS,
            }
            database.insert("device", {**values, "polled": 0.0, "state": "pending"})
        return device, code

    def answer_device(self, caller: Caller, user_code: str, *, approve: bool) -> None:
        """Approve or deny a device login as the caller."""
        state, code = "approved" if approve else "denied", user_code.strip().upper()
        with self.database.writing() as database:
            row = database.row(
                "SELECT hash, label FROM device WHERE user_code = ? AND state = 'pending' AND expires > ?",
                code,
                time.time(),
            )
            if row is None:
                raise MissingError("No pending login has this code")
            database.run(
                "UPDATE device SET state = ?, token = ? WHERE hash = ?", state, caller.token, row["hash"]
            )
            self.registry.record(caller, f"device login {state}", None, caller.user, row["label"])

    def poll_device(self, device: str) -> str:
        """Return the new token. Raises RejectedError with an error code of RFC 8628 if there is none."""
        now = time.time()
        with self.database.writing() as database:
            row = database.row("SELECT * FROM device WHERE hash = ?", _hash(device))
            if row is None or row["expires"] < now:
                raise RejectedError("expired_token")
            if row["state"] == "pending":
                database.run("UPDATE device SET polled = ? WHERE hash = ?", now, row["hash"])
                refusal = (
                    "slow_down" if now - row["polled"] < DEVICE_INTERVAL / 2 else "authorization_pending"
                )
            else:
                database.run("DELETE FROM device WHERE hash = ?", row["hash"])
                source = database.row("SELECT * FROM token WHERE id = ?", row["token"])
                if row["state"] == "approved" and source is not None and source["revoked"] is None:
                    return self._insert_like(source)
                refusal = "access_denied"
        raise RejectedError(refusal)

    def _insert_like(self, source: Row) -> str:
        """Create the token of a device: the scopes of the approving token without `review`."""
        secret = _PREFIX + secrets.token_urlsafe(32)
        scopes = [scope for scope in source["scopes"].split() if scope in (READ, PUBLISH)] or [READ]
        expires = min(time.time() + 90 * 86400, source["expires"] or 1e12)
        self._insert(secret, source["user"], scopes, source["owner"], expires)
        user = Caller(source["user"])
        self.registry.record(
            user, "token added", source["owner"], source["user"], f"{' '.join(scopes)} by a device"
        )
        return secret

    # Upload tickets

    def add_ticket(self, caller: Caller, path: str, size: int, sha256: str) -> str:
        """Allow one upload of one file; the ticket is bound to the token, the path and the size."""
        if not 0 <= size <= SKILL_BYTES:
            raise RejectedError(f"A file may have at most {SKILL_BYTES:,} bytes")
        ticket = secrets.token_urlsafe(24)
        now = time.time()
        self.remove_expired_tickets()
        with self.database.writing() as database:
            used = database.row(
                "SELECT COUNT(*) AS count, COALESCE(SUM(size), 0) AS size FROM ticket WHERE token = ?",
                caller.token,
            )
            assert used is not None
            if used["count"] >= 4 * SKILL_FILES or used["size"] + size > 4 * SKILL_BYTES:
                raise TooManyError(TICKET_SECONDS)
            database.insert(
                "ticket",
                {
                    "hash": _hash(ticket),
                    "token": caller.token,
                    "path": path,
                    "size": size,
                    "sha256": sha256,
                    "expires": now + TICKET_SECONDS,
                },
            )
        return ticket

    def remove_expired_tickets(self) -> None:
        """Delete the uploads of publications that were given up."""
        with self.database.writing() as database:
            database.run("DELETE FROM ticket WHERE expires < ?", time.time())

    def fill_ticket(self, caller: Caller, ticket: str, content: bytes) -> str:
        """Store the upload of a ticket, once, and return its SHA-256."""
        digest = hashlib.sha256(content).hexdigest()
        with self.database.writing() as database:
            row = self._ticket(caller, ticket)
            if row["content"] is not None:
                raise RejectedError("The upload ticket was already used")
            if len(content) != row["size"] or (row["sha256"] and digest != row["sha256"]):
                raise RejectedError("The size or SHA-256 of the upload does not match its ticket")
            database.run("UPDATE ticket SET content = ? WHERE hash = ?", content, row["hash"])
        return digest

    def take_ticket(self, caller: Caller, ticket: str, path: str, sha256: str) -> bytes:
        """Return what was uploaded with a ticket for `path`, and delete the ticket."""
        with self.database.writing() as database:
            row = self._ticket(caller, ticket)
            database.run("DELETE FROM ticket WHERE hash = ?", row["hash"])
        content: bytes | None = row["content"]
        if content is None or row["path"] != path or hashlib.sha256(content).hexdigest() != sha256:
            raise RejectedError(f"The upload of '{path[:200]}' does not match its ticket")
        return content

    def _ticket(self, caller: Caller, ticket: str) -> Row:
        row = self.database.row(
            "SELECT * FROM ticket WHERE hash = ? AND token = ? AND expires > ?",
            _hash(ticket),
            caller.token,
            time.time(),
        )
        if row is None:
            raise MissingError("No such upload ticket")
        return row

    # Forms

    def form_token(self, caller: Caller) -> str:
        """Return the CSRF token of forms: bound to this server and this user."""
        key = self.registry.setting("form key")
        if not key:
            with self.database.writing():
                key = self.registry.setting("form key") or secrets.token_hex(32)
                self.registry.keep_setting("form key", key)
        return _hash(f"{key}\0{caller.token}\0{caller.user}")


def _grants(rows: Sequence[Row]) -> tuple[Grant, ...]:
    return tuple(Grant(scope, row["owner"]) for row in rows for scope in row["scopes"].split())


@dataclass(frozen=True, slots=True)
class RateLimits:
    """Requests a minute for each token, or for each address where there is none."""

    reads: int = 600
    uploads: int = 20

    @property
    def files(self) -> int:
        """Single files: as many as the uploads may have."""
        return 2 * SKILL_FILES * self.uploads


class RateLimiter:
    """Token buckets of this process; the least recently used are dropped."""

    def __init__(self, limits: RateLimits) -> None:
        self._limits = limits
        self._buckets: OrderedDict[tuple[str, object], tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def spend(self, caller: Caller, kind: str) -> None:
        """Count one request. Raises TooManyError if none is left."""
        limit = getattr(self._limits, kind)
        key, now = (kind, caller.token or caller.address), time.monotonic()
        with self._lock:
            left, since = self._buckets.pop(key, (float(limit), now))
            left = min(float(limit), left + (now - since) * limit / 60)
            if left < 1:
                self._buckets[key] = (left, now)
                raise TooManyError(max(1, round((1 - left) * 60 / limit)))
            self._buckets[key] = (left - 1, now)
            while len(self._buckets) > MAX_CALLERS:
                self._buckets.popitem(last=False)
