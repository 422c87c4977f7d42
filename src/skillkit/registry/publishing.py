"""Publishing: an upload is checked, held or not, and written in one transaction."""

import io
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypedDict, Unpack

from skillkit.core.codec import encode
from skillkit.core.limits import DOWNLOAD_BYTES
from skillkit.install.capabilities import Capabilities
from skillkit.install.exceptions import InstallError
from skillkit.install.publishing import pack
from skillkit.install.sources.unpack import gather, unpack
from skillkit.install.tree import SKILL_FILE, SkillTree, TreeFile, TreeLimits, refuse_large
from skillkit.registry.access import ANYBODY, PUBLISH, READ, Caller, Grant, State
from skillkit.registry.archives import fingerprint, zip_of
from skillkit.registry.checks import NEIGHBOURS, CheckedSkill, Neighbour, check_tree, growth, route
from skillkit.registry.database import Database, Row
from skillkit.registry.exceptions import ConflictError, ForbiddenError, MissingError, RejectedError
from skillkit.registry.names import Version, header_version, next_patch
from skillkit.registry.repository import add_files
from skillkit.registry.store import Registry, VersionRow, as_json

NEW, GROWN = "new", "grown"
HOLDS = (NEW, GROWN)


@dataclass(frozen=True, slots=True)
class Publication:
    """The result of an upload."""

    owner: str
    skill: str
    version: VersionRow
    existed: bool
    """The same bytes were published before under this number."""
    difference: list[tuple[str, tuple[str, ...], tuple[str, ...]]]
    """Label, gained and lost values of the card, against the last published version."""

    @property
    def title(self) -> str:
        return f"{self.owner}/{self.skill}@{self.version.number}"

    def check_accepted(self) -> None:
        """Raise ConflictError if these bytes were published before and are not published or held now."""
        state, reason = self.version.state, self.version.reason
        if state not in (State.PUBLISHED, State.HELD):
            raise ConflictError(f"{self.title} was {state.value}{reason and f': {reason}'}")


class Claims(TypedDict, total=False):
    """What an upload says about itself."""

    skill: str
    """The name: that in SKILL.md, if it has one."""
    version: str
    """The number; else that of the header, else the next patch, but for the bytes of the last number."""
    changelog: str


class Publisher:
    """Takes uploads into a registry."""

    def __init__(self, registry: Registry, hold: tuple[str, ...] | None = None) -> None:
        """Without `hold`, it is that of the last server that was started."""
        self.registry = registry
        last = tuple(filter(None, registry.setting("hold").split(",")))
        self.hold = hold if hold is not None else last or HOLDS

    def publish_archive(
        self, caller: Caller, owner: str, data: bytes, *, folder: str = "", **claims: Unpack[Claims]
    ) -> Publication:
        """Publish a .tar.gz or .zip; if SKILL.md is not at its top, the skill is in `folder`."""
        if len(data) > DOWNLOAD_BYTES:
            raise RejectedError(f"The archive is larger than {DOWNLOAD_BYTES:,} bytes")

        def read() -> dict[str, TreeFile]:
            files = unpack(data, "the archive")
            if SKILL_FILE in files or not folder:
                return files
            return {
                path.removeprefix(folder): each for path, each in files.items() if path.startswith(folder)
            }

        return self._publish(caller, owner, read, **claims)

    def publish_files(
        self, caller: Caller, owner: str, files: Mapping[str, bytes], **claims: Unpack[Claims]
    ) -> Publication:
        """Publish files that came one by one; their paths are checked like those of an archive."""
        members = ((path, io.BytesIO(content), False) for path, content in files.items())
        return self._publish(caller, owner, lambda: gather(members, "the upload"), **claims)

    def publish_tree(
        self, caller: Caller, owner: str, tree: SkillTree, **claims: Unpack[Claims]
    ) -> Publication:
        """Publish a skill that is in memory and checked already."""
        return self._publish(caller, owner, lambda: dict(tree.files), **claims)

    def _publish(
        self,
        caller: Caller,
        owner: str,
        read: Callable[[], dict[str, TreeFile]],
        *,
        skill: str = "",
        version: str = "",
        changelog: str = "",
    ) -> Publication:
        found = self.registry.owner(owner)
        # Whether the owner exists is not said to a token that may not publish as it.
        if found is None or not caller.has(PUBLISH, found["id"]):
            raise ForbiddenError(f"The token cannot publish as '{owner[:60]}'")
        if version:
            Version.parse(version)
        try:
            files = read()
            refuse_large(len(files), sum(len(file.content) for file in files.values()), TreeLimits())
            checked = check_tree(SkillTree(files), skill)
        except InstallError as error:
            raise RejectedError(str(error)) from error
        if skill and checked.name != skill.lower():
            raise RejectedError(f"The name in SKILL.md is '{checked.name}', not '{skill[:80]}'")
        return self._insert(caller, found, checked, version, changelog[:4000])

    def _insert(
        self, caller: Caller, owner: Row, checked: CheckedSkill, wanted: str, changelog: str
    ) -> Publication:
        registry, title = self.registry, f"{owner['name']}/{checked.name}"
        routing = route(checked, title, self._neighbours(owner, checked))
        tar, zipped = pack(checked.tree), zip_of(checked.tree)
        header = header_version(str(checked.metadata.version or ""))
        existing = self._existing(owner, checked, wanted or header)
        if existing is not None:
            return existing
        row = {
            "header": str(checked.metadata.version or "")[:100],
            "digest": checked.tree.digest.digest,
            "fingerprint": fingerprint(checked.tree),
            "git": add_files({}, checked.tree.files),
            "tar": registry.blobs.put(tar),
            "zip": registry.blobs.put(zipped),
            "files": as_json(_files(checked.tree)),
            "instructions": checked.instructions,
            "card": as_json(encode(checked.card)),
            "checks": as_json({**checked.report, "routing": routing, "size": len(tar)}),
            "cases": as_json(checked.cases),
            "changelog": changelog,
            "publisher": caller.user,
        }
        with registry.database.writing() as database:
            existing = self._existing(owner, checked, wanted or header)
            if existing is not None:
                return existing
            for archive in (tar, zipped):  # removed meanwhile, if nothing else had it; not while we write
                registry.blobs.put(archive)
            skill = _skill_row(database, owner, checked)
            number = wanted or header or next_patch(registry.numbers(skill))
            previous = self._previous(skill)
            reasons = self._held_because(owner, skill, checked, previous)
            now = time.time()
            state = State.HELD if reasons else State.PUBLISHED
            judged = {"state": state.value, "reason": "; ".join(reasons), "created": now}
            times = {"published": None if reasons else now}
            fields = {"skill": skill, "number": number, **row, **judged, **times}
            version = database.insert("version", fields)
            registry.set_latest(skill)
            registry.record(caller, state.value, owner["id"], f"{title}@{number}", "; ".join(reasons))
        return self._publication(owner, checked, version, False, previous)

    def _existing(self, owner: Row, checked: CheckedSkill, number: str) -> Publication | None:
        """Return the version with these bytes: of this number, or if there is none of the last one used.

        Raises ConflictError if the number has other bytes.
        """
        found = self.registry.database.rows(
            "SELECT version.id, number, digest FROM version JOIN skill ON skill.id = version.skill"
            " WHERE skill.owner = ? AND skill.name = ?",
            owner["id"],
            checked.name,
        )
        rows = {row["number"]: row for row in found}
        row = rows.get(number or max(rows, key=Version.parse, default=""))
        if row is None:
            return None
        if row["digest"] != checked.tree.digest.digest:
            if not number:
                return None
            free = next_patch(list(rows))
            raise ConflictError(f"Version {number} already exists; the next free number is {free}")
        return self._publication(owner, checked, row["id"], True, None)

    def _publication(
        self, owner: Row, checked: CheckedSkill, version: int, existed: bool, previous: Capabilities | None
    ) -> Publication:
        difference = [] if previous is None else previous.difference(checked.card)
        row = self.registry.version_by_id(version)
        return Publication(owner["name"], checked.name, row, existed, difference)

    def _held_because(
        self, owner: Row, skill: int, checked: CheckedSkill, previous: Capabilities | None
    ) -> list[str]:
        database = self.registry.database
        if NEW in self.hold and not database.row(
            "SELECT version.id FROM version JOIN skill ON skill.id = version.skill"
            " WHERE skill.owner = ? AND version.published IS NOT NULL LIMIT 1",
            owner["id"],
        ):
            return [f"the first version of {owner['name']}"]
        if GROWN in self.hold and previous is None and self.registry.numbers(skill):
            previous = Capabilities()  # every earlier version was held, refused or blocked
        if GROWN in self.hold and previous is not None:
            return [f"new in {gained}" for gained in growth(previous, checked.card)]
        return []

    def _previous(self, skill: int) -> Capabilities | None:
        """Return the card of the highest version that was ever published and is not blocked."""
        rows = self.registry.database.rows(
            "SELECT * FROM version WHERE skill = ? AND published IS NOT NULL AND state <> 'blocked'", skill
        )
        found = max(map(VersionRow.of, rows), key=lambda version: version.order, default=None)
        return found.card if found else None

    def _neighbours(self, owner: Row, checked: CheckedSkill) -> list[Neighbour]:
        """Return the nearest published skills that every reader of this one can see."""
        hidden = owner["private"] or self.registry.visibility.private
        everybody = Caller(grants=(Grant(READ, owner["id"]),)) if hidden else ANYBODY
        text = f"{checked.name.replace('-', ' ')} {checked.metadata.description}"
        found = self.registry.nearest(everybody, text, NEIGHBOURS + 1)
        others = [each for each in found if (each.owner, each.name) != (owner["id"], checked.name)]
        latest = [
            (each, self.registry.version_by_id(each.latest)) for each in others[:NEIGHBOURS] if each.latest
        ]
        return [Neighbour(each.title, version.instructions, version.cases) for each, version in latest]


def _skill_row(database: Database, owner: Row, checked: CheckedSkill) -> int:
    row = database.row("SELECT id FROM skill WHERE owner = ? AND name = ?", owner["id"], checked.name)
    if row is not None:
        return int(row["id"])
    now = time.time()
    names = {"owner": owner["id"], "name": checked.name, "description": checked.report["description"]}
    return database.insert("skill", {**names, "created": now, "updated": now})


def _files(tree: SkillTree) -> list[dict[str, Any]]:
    return [
        {"path": path, "sha256": each.sha256, "size": each.size, "executable": each.executable}
        for path, each in sorted(tree.digest.files.items())
    ]


def routing_seen_by(registry: Registry, caller: Caller, routing: Mapping[str, Any]) -> dict[str, Any]:
    """Return the routing report of a version without skills that are hidden from the caller."""

    @cache
    def seen(title: str) -> bool:
        owner, _, name = title.partition("/")
        try:
            return bool(registry.skill(caller, name, owner))
        except MissingError:
            return False

    return {
        "own": [case for case in routing.get("own", ()) if not case["winner"] or seen(case["winner"])],
        "taken": [case for case in routing.get("taken", ()) if seen(case["skill"])],
        "nearest": [title for title in routing.get("nearest", ()) if seen(title)],
        "untried": routing.get("untried", 0),
    }


def publication_data(registry: Registry, caller: Caller, found: Publication) -> dict[str, Any]:
    """Return the answer to a publisher."""
    version = found.version
    routing = routing_seen_by(registry, caller, version.checks.get("routing", {}))
    return {
        "owner": found.owner,
        "skill": found.skill,
        "version": version.number,
        "state": version.state.value,
        "reason": version.reason,
        "existed": found.existed,
        "digest": version.digest,
        "card": {label: list(values) for label, values in version.card.facts()},
        "difference": [
            {"fact": label, "gained": list(gained), "lost": list(lost)}
            for label, gained, lost in found.difference
        ],
        "checks": {**version.checks, "routing": routing},
    }
