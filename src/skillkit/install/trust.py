"""Trust: the user's word about exact bytes, kept in the user's home and never in a repository."""

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from skillkit.core.digest import tree_digest, tree_stamp
from skillkit.core.disk import DamagedFileError, JsonFile, agent_home, clear_temporary, locked
from skillkit.core.exceptions import SkillsUseError, StateFileError
from skillkit.core.models import SkillMetadata, SourceType
from skillkit.core.shipped import is_as_shipped
from skillkit.install.record import InstalledSkill
from skillkit.install.registry import InstallRegistry

if TYPE_CHECKING:
    from skillkit.scripts.policy import Grants

logger = logging.getLogger(__name__)

FORMAT = 1
MAX_FILES = 4096
MAX_BYTES = 256 << 20
"""How much is hashed to judge a skill; more than that was never shown to anybody."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a skill is trusted, and why or why not."""

    trusted: bool
    reason: str
    digest: str | None = None


class TrustStore:
    """trust.json: digests of skills in project folders that the user said yes to."""

    def __init__(
        self, home: Path | None = None, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.home = Path(home) if home is not None else agent_home()
        self.file = JsonFile(self.home / "trust.json", FORMAT)
        self.now = now

    def digests(self) -> dict[str, dict[str, str]]:
        """Every approved digest, with what it was when it was approved."""
        try:
            data = self.file.read()
        except DamagedFileError as error:
            logger.warning("%s is %s; nothing in it counts", self.file.path, error)
            return {}
        consents = data.get("digests") if data else None
        return dict(consents) if isinstance(consents, dict) else {}

    def trusts(self, digest: str) -> bool:
        return digest in self.digests()

    def grant(self, digest: str, *, name: str, path: Path) -> None:
        """Remember a yes."""
        with locked(self.home / "install.lock"):
            clear_temporary(self.home)
            consents = self._consents()
            consents[digest] = {
                "name": name,
                "path": str(path),
                "granted_at": self.now().isoformat(timespec="seconds"),
            }
            self.file.write({"digests": consents})

    def revoke(self, digest: str) -> bool:
        """Take a yes back; False when there was none."""
        with locked(self.home / "install.lock"):
            consents = self._consents()
            known = consents.pop(digest, None) is not None
            if known:
                self.file.write({"digests": consents})
            return known

    def _consents(self) -> dict[str, dict[str, str]]:
        with suppress(StateFileError):
            try:
                self.file.read()
            except DamagedFileError:
                self.file.set_aside()
        return self.digests()


class TrustJudge:
    """Says of any discovered skill whether it is trusted; looks at the bytes, not at promises.

    A tree is hashed again only when something about its files has changed.
    """

    def __init__(self, registry: InstallRegistry, consents: TrustStore) -> None:
        self.registry = registry
        self.consents = consents
        self._digests: dict[str, tuple[object, str | SkillsUseError]] = {}
        self._installed: tuple[object, dict[str, InstalledSkill]] = (None, {})
        self._approved: tuple[object, dict[str, dict[str, str]]] = (None, {})
        self._real = lru_cache(256)(os.path.realpath)

    def installed(self, skill: SkillMetadata) -> InstalledSkill | None:
        """The record of an installed skill; None for one that lies in some folder."""
        store = self.registry.store
        folder = skill.base_dir
        if self._real(folder.parent) != self._real(store.links):
            return None
        stamp = _file_stamp(self.registry.file.path)
        if stamp != self._installed[0] or stamp is None:
            self._installed = (stamp, dict(self.registry.load().skills))
        record = self._installed[1].get(folder.name)
        return record if record is not None and store.linked(folder.name) is not None else None

    def standing(self, skill: SkillMetadata) -> Standing:
        if is_as_shipped(skill):
            return Standing(True, "comes with skillkit")
        record = self.installed(skill)
        if record is not None:
            return self._of_installed(record, skill)
        if skill.source is SourceType.USER or self._lies_at_home(skill.base_dir):
            return Standing(True, "lies in your own folder")
        return self._of_folder(skill)

    def _lies_at_home(self, folder: Path) -> bool:
        """In one of the user's own folders, which are a project's when somebody works in his home."""
        own = (self.registry.store.links, *(Path.home() / name / "skills" for name in (".agents", ".claude")))
        return self._real(folder.parent) in {self._real(place) for place in own}

    def trusts(self, skill: SkillMetadata, digest: str) -> bool:
        """Whether these bytes of `skill` may run: what toolsets ask before they are imported."""
        standing = self.standing(skill)
        return standing.trusted and standing.digest in (None, digest)

    def grants(self, skill: SkillMetadata, digest: str) -> "Grants":
        """What scripts get: all they ask for when trusted, an empty sandbox when not."""
        from skillkit.scripts.policy import Grants

        if self.trusts(skill, digest):
            return Grants.as_requested(skill)
        return Grants(withheld_env=skill.permissions.env)

    def _of_installed(self, record: InstalledSkill, skill: SkillMetadata) -> Standing:
        if not record.trusted:
            return Standing(False, "installed, not approved", record.digest)
        if self._digest(skill.base_dir) != record.digest:
            return Standing(False, "changed since it was approved", record.digest)
        return Standing(True, "approved", record.digest)

    def _of_folder(self, skill: SkillMetadata) -> Standing:
        digest = self._digest(skill.base_dir)
        if isinstance(digest, SkillsUseError):
            return Standing(False, f"cannot be approved: {digest}")
        stamp = _file_stamp(self.consents.file.path)
        if stamp != self._approved[0]:
            self._approved = (stamp, self.consents.digests())
        if digest in self._approved[1]:
            return Standing(True, "approved", digest)
        if skill.source is SourceType.BUNDLED:
            return Standing(False, "differs from what skillkit ships, not approved", digest)
        return Standing(False, "found in a project folder, not approved", digest)

    def _digest(self, folder: Path) -> str | SkillsUseError:
        stamp = tree_stamp(folder)
        known = self._digests.get(str(folder))
        if known is not None and stamp is not None and known[0] == stamp:
            return known[1]
        result: str | SkillsUseError
        try:
            result = tree_digest(folder, max_files=MAX_FILES, max_bytes=MAX_BYTES).digest
        except SkillsUseError as error:
            result = error
        # The stamp is older than the digest: what changed in between has another stamp by now.
        self._digests[str(folder)] = (stamp, result)
        return result


def _file_stamp(path: Path) -> object:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
