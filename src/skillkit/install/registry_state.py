"""RegistryState: everything registry.json says."""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from skillkit.core.codec import encode
from skillkit.core.disk import DamagedFileError
from skillkit.core.events import Event, Kind, Writer
from skillkit.core.text import escape_hidden
from skillkit.install.clients import Place
from skillkit.install.exceptions import InstallError, NotInstalledError
from skillkit.install.paths import installed_identity
from skillkit.install.record import InstalledSkill

TRASH_DAYS = 7
MAX_PREVIOUS = 5
UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, InstallError)
"""Errors raised by reading a damaged record."""


@dataclass(frozen=True, slots=True)
class RemovedSkill:
    """A skill in the trash."""

    skill: InstalledSkill
    removed_at: str

    def expired(self, now: datetime) -> bool:
        return now - _moment(self.removed_at) > timedelta(days=TRASH_DAYS)


_OWN_FIELDS = frozenset({"version", "skills", "removed", "selection", "places", "unsettled"})


@dataclass(slots=True)
class RegistryState:
    """Everything registry.json says; changed inside `InstallRegistry.transaction` only."""

    skills: dict[str, InstalledSkill] = field(default_factory=dict)
    """By canonical name."""
    removed: list[RemovedSkill] = field(default_factory=list)
    selection: str | None = None
    """The enabled skills, in the syntax of AGENT_SKILLS; None if never set."""
    places: dict[str, tuple[Place, ...]] = field(default_factory=dict)
    """Client folders of each skill, by canonical name; kept for skills in the trash."""
    unsettled: bool = False
    """Whether clients' folders may be out of step with `places`."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields that another release of skillkit wrote, kept as they are."""

    def get(self, name: str) -> InstalledSkill:
        skill = self.skills.get(installed_identity(name))
        if skill is None:
            known = ", ".join(sorted(self.skills)) or "none"
            raise NotInstalledError(f"Skill '{escape_hidden(name)}' is not installed. Installed: {known}")
        return skill

    def selected(self, names: Iterable[str]) -> list[InstalledSkill]:
        """Return the skills of these names, or every one by name."""
        return [self.get(name) for name in names] or [skill for _, skill in sorted(self.skills.items())]

    def to_data(self) -> dict[str, Any]:
        return {
            **self.extra,
            "skills": {name: skill.to_data() for name, skill in sorted(self.skills.items())},
            "removed": [
                {"skill": item.skill.to_data(), "removed_at": item.removed_at} for item in self.removed
            ],
            "selection": self.selection,
            "places": {
                name: [encode(place) for place in places] for name, places in sorted(self.places.items())
            },
            "unsettled": self.unsettled,
        }

    @staticmethod
    def from_data(data: Mapping[str, Any], approved: Container[str] = ()) -> "RegistryState":
        try:
            skills = [InstalledSkill.from_data(item, approved) for item in data["skills"].values()]
            removed = [
                RemovedSkill(
                    InstalledSkill.from_data(item["skill"], approved),
                    _moment(item["removed_at"]).isoformat(),
                )
                for item in data.get("removed", ())
            ]
            selection = data.get("selection")
            return RegistryState(
                {skill.name_canonical: skill for skill in skills},
                removed,
                selection if selection is None or isinstance(selection, str) else None,
                {
                    name: tuple(map(Place.from_data, places))
                    for name, places in data.get("places", {}).items()
                },
                data.get("unsettled") is True,
                {name: value for name, value in data.items() if name not in _OWN_FIELDS},
            )
        except UNREADABLE as error:
            raise DamagedFileError(f"with an invalid record ({error})") from error

    @property
    def stored(self) -> dict[str, str]:
        """The store path of each skill's version in use."""
        return {name: skill.stored for name, skill in self.skills.items()}

    def versions(self) -> Iterator[InstalledSkill]:
        """Yield every version that must stay in the store."""
        for skill in (*self.skills.values(), *(item.skill for item in self.removed)):
            yield skill
            yield from skill.previous

    def digests(self, name: str) -> set[str]:
        """Return the digests of every version of a skill."""
        return {version.digest for version in self.versions() if version.name_canonical == name}

    def add_places(self, name: str, places: Iterable[Place]) -> None:
        """Record a skill's places in clients' folders; clients of the same path are merged."""
        kept = {place.path: place for place in self.places.get(name, ())}
        for place in places:
            old = kept.get(place.path, place)
            clients = tuple(dict.fromkeys((*old.clients, *place.clients)))
            kept[place.path] = replace(old, clients=clients)
        if kept:
            self.places[name] = tuple(kept.values())


def record_changes(
    journal: Writer, before: Mapping[str, InstalledSkill], after: Mapping[str, InstalledSkill]
) -> None:
    """Write installs, updates and removals to the journal."""
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        skill = new or old
        if skill is None or (old and new and old.digest == new.digest):
            continue
        kind = Kind.INSTALLED if old is None else Kind.REMOVED if new is None else Kind.UPDATED
        data = {"origin": skill.origin, "revision": skill.revision}
        if old and new:
            data["was"] = old.digest
        journal.record(Event(kind, name, skill.digest, data))


def _moment(value: Any) -> datetime:
    moment = datetime.fromisoformat(value)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
