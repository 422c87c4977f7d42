"""Who decides whether a skill is offered, its code imported and its scripts run, and with which grants.

The catalogue, the loaders and the runner ask one Authority; none of them decides anything itself.
"""

import logging
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from skillkit.core.availability import Refusal
from skillkit.core.events import Writer
from skillkit.core.grants import Grants
from skillkit.core.models import SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.core.shipped import is_as_shipped

logger = logging.getLogger(__name__)

EVERYTHING = "*"


@dataclass(frozen=True, slots=True)
class Requester:
    """On whose behalf an authority is asked; empty for nobody in particular."""

    program: str = ""
    conversation: str = ""
    tenant: str = ""
    """A customer, a user or a client of a server."""
    files: tuple[Path, ...] = ()
    """Files the user named: scripts that run for this user see these, read-only, and no others."""


_requester: ContextVar[Requester] = ContextVar("skillkit_requester")
_NO_REQUESTER = Requester()


def current_requester() -> Requester:
    """Return the requester of the innermost `asking_for`."""
    return _requester.get(_NO_REQUESTER)


@contextmanager
def asking_for(requester: Requester | None) -> Iterator[None]:
    """Set the requester for the block; None changes nothing."""
    if requester is None:
        yield
        return
    token = _requester.set(requester)
    try:
        yield
    finally:
        _requester.reset(token)


class Authority(Protocol):
    """Decides about skills. Called often and from many threads: cache what is costly to compute."""

    def offer_refusal(self, skill: SkillMetadata, requester: Requester) -> Refusal | None:
        """Return why `skill` may not be used at all; None if it may."""

    def import_refusal(self, skill: SkillMetadata, digest: str, requester: Requester) -> Refusal | None:
        """Return why code of the tree with this digest may not run in our own process; None if it may."""

    def grants(self, skill: SkillMetadata, digest: str, requester: Requester) -> Grants:
        """Return the grants of the tree with this digest; `run` is false if its scripts may not run."""


def decide_offer(authority: Authority, skill: SkillMetadata, requester: Requester) -> Refusal | None:
    """Return what `authority` decides; one that raises allows nothing."""
    try:
        return authority.offer_refusal(skill, requester)
    except Exception as error:
        logger.exception("Cannot decide whether skill '%s' may be used", skill.name)
        problem = f"{type(error).__name__}: {error}"
        return Refusal(
            "unavailable", f"Whether skill '{skill.name}' may be used cannot be decided: {problem}"
        )


class DefaultAuthority:
    """Offers every skill, imports what ships with skillkit, runs scripts in a sandbox with nothing in it.

    The base for an authority of your own: override what you decide differently.
    """

    def offer_refusal(self, skill: SkillMetadata, requester: Requester) -> Refusal | None:
        return None

    def import_refusal(self, skill: SkillMetadata, digest: str, requester: Requester) -> Refusal | None:
        if is_as_shipped(skill):
            return None
        return Refusal("untrusted", "the skill is not trusted; its code would run in this process")

    def grants(self, skill: SkillMetadata, digest: str, requester: Requester) -> Grants:
        return Grants()


class TrustEverySkill(DefaultAuthority):
    """Grants every skill what it asks for; for programs that trust every searched folder as a whole."""

    def import_refusal(self, skill: SkillMetadata, digest: str, requester: Requester) -> Refusal | None:
        return None

    def grants(self, skill: SkillMetadata, digest: str, requester: Requester) -> Grants:
        return Grants.as_requested(skill)


class WrappedAuthority:
    """Base of wrapping authorities: decides as `base` does, except for what `refusal` refuses."""

    def __init__(self, base: Authority) -> None:
        self.base = base

    def refusal(
        self, skill: SkillMetadata, requester: Requester, digest: str | None = None
    ) -> Refusal | None:
        """Return why `skill` is refused, whatever `base` decides; None leaves the decision to `base`."""
        return None

    def offer_refusal(self, skill: SkillMetadata, requester: Requester) -> Refusal | None:
        return self.refusal(skill, requester) or self.base.offer_refusal(skill, requester)

    def import_refusal(self, skill: SkillMetadata, digest: str, requester: Requester) -> Refusal | None:
        refused = self.refusal(skill, requester, digest)
        return refused or self.base.import_refusal(skill, digest, requester)

    def grants(self, skill: SkillMetadata, digest: str, requester: Requester) -> Grants:
        if (refused := self.refusal(skill, requester, digest)) is not None:
            return Grants(run=False, reason=refused.reason)
        return self.base.grants(skill, digest, requester)


class PerTenantAuthority(WrappedAuthority):
    """Gives each tenant its own skills: `{"editor": ["pdf"], "ci": ["*"]}`; others have none.

    What a tenant may not have does not exist for it, whatever `base` thinks of it.
    """

    def __init__(self, skills: Mapping[str, Collection[str]], base: Authority | None = None) -> None:
        super().__init__(base or DefaultAuthority())
        self._skills = {
            tenant: frozenset(canonical_name(name) for name in names) for tenant, names in skills.items()
        }

    def offer_refusal(self, skill: SkillMetadata, requester: Requester) -> Refusal | None:
        decided = self.base.offer_refusal(skill, requester)
        if requester == _NO_REQUESTER and decided is not None:
            # Of the skill itself: which of two with one name is used does not depend on tenants.
            return decided
        return self.refusal(skill, requester) or decided

    def refusal(
        self, skill: SkillMetadata, requester: Requester, digest: str | None = None
    ) -> Refusal | None:
        allowed = self._skills.get(requester.tenant, frozenset())
        if EVERYTHING in allowed or skill.canonical_name in allowed:
            return None
        return Refusal("not_found", f"'{requester.tenant}' has no skill '{skill.name}'")


class SkillDirectory(Protocol):
    """The skills that exist, and who decides about them; a SkillManager is one."""

    @property
    def authority(self) -> Authority: ...

    @property
    def journal(self) -> Writer: ...

    def get_skill(self, name: str) -> SkillMetadata: ...

    def find_skill(self, name: str) -> SkillMetadata | None: ...

    def list_skills(self) -> list[SkillMetadata]: ...

    def refusal(self, skill: SkillMetadata) -> Refusal | None: ...
