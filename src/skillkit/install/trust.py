"""Trust: the user's word about exact bytes, kept in the user's home and never in a repository."""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from skillkit.core.digest import tree_digest
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.models import SkillMetadata, SourceType
from skillkit.core.sources import agent_home
from skillkit.install.disk import DamagedFileError, JsonFile, locked
from skillkit.install.exceptions import RegistryError
from skillkit.install.registry import InstalledSkill, InstallRegistry

logger = logging.getLogger(__name__)

FORMAT = 1


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
        with suppress(RegistryError):
            try:
                self.file.read()
            except DamagedFileError:
                self.file.set_aside()
        return self.digests()


class TrustJudge:
    """Says of any discovered skill whether it is trusted; looks at the bytes, not at promises."""

    def __init__(self, registry: InstallRegistry, consents: TrustStore) -> None:
        self.registry = registry
        self.consents = consents
        self._installed: dict[str, InstalledSkill] | None = None
        self._approved: dict[str, dict[str, str]] | None = None

    def installed(self, skill: SkillMetadata) -> InstalledSkill | None:
        """The record of an installed skill; None for one that lies in some folder."""
        if self._installed is None:
            self._installed = dict(self.registry.load().skills)
        if skill.source is not SourceType.USER or skill.base_dir.parent.resolve() != (
            self.registry.store.links.resolve()
        ):
            return None
        record = self._installed.get(skill.base_dir.name)
        linked = self.registry.store.linked(skill.base_dir.name)
        return record if linked is not None else None

    def standing(self, skill: SkillMetadata) -> Standing:
        if skill.source is SourceType.BUNDLED:
            return Standing(True, "comes with skillkit")
        record = self.installed(skill)
        if record is not None:
            return self._of_installed(record)
        if skill.source is SourceType.USER:
            return Standing(True, "lies in your own folder")
        return self._of_folder(skill)

    def _of_installed(self, record: InstalledSkill) -> Standing:
        if not record.trusted:
            return Standing(False, "installed, not approved", record.digest)
        now = self.registry.store.digest(self.registry.store.path(record.stored))
        if now is None or now.digest != record.digest:
            return Standing(False, "changed since it was approved", record.digest)
        return Standing(True, "approved", record.digest)

    def _of_folder(self, skill: SkillMetadata) -> Standing:
        try:
            digest = tree_digest(skill.base_dir).digest
        except SkillsUseError as error:
            return Standing(False, f"cannot be approved: {error}")
        if self._approved is None:
            self._approved = self.consents.digests()
        if digest in self._approved:
            return Standing(True, "approved", digest)
        return Standing(False, "found in a project folder, not approved", digest)
