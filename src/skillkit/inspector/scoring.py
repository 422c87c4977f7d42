"""Scores requests and builds prompts, as configured or under an assumption."""

import copy
import threading
from dataclasses import dataclass

from skillkit.core.authority import Authority, Requester, WrappedAuthority
from skillkit.core.availability import Refusal
from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.disclosure import SkillContextProvider
from skillkit.integrations.default_tools import default_provider, default_sources
from skillkit.matching import SkillMatcher
from skillkit.matching.settings import Mode
from skillkit.scripts import ScriptTools

_MAX_KEPT = 8


@dataclass(frozen=True, slots=True)
class Assumption:
    """Settings a request is tried under instead of the configured ones."""

    mode: Mode | None = None
    threshold: float | None = None
    active: str = ""
    """The canonical name of a skill to treat as enabled and trusted."""


AS_IT_IS = Assumption()


class AssumedSkillAuthority(WrappedAuthority):
    """Offers one more skill than `base`, without any grants."""

    def __init__(self, base: Authority, name: str) -> None:
        super().__init__(base)
        self._name = name

    def offer_refusal(self, skill: SkillMetadata, requester: Requester) -> Refusal | None:
        if skill.canonical_name == self._name:
            return None
        return super().offer_refusal(skill, requester)


class RequestScorer:
    """The matchers and providers of one state of the library; indexes are kept from state to state."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        """Held while skills are indexed; nothing but requests waits for that."""
        self._matchers: dict[tuple[Mode, bool, str], tuple[int, SkillMatcher]] = {}
        self._providers: dict[Assumption, tuple[int, SkillContextProvider]] = {}

    def matcher(
        self, manager: SkillManager, version: int, assumed: Assumption = AS_IT_IS, *, known: bool = False
    ) -> SkillMatcher:
        """Return a matcher over the skills on offer, or over all `known` ones."""
        with self._lock:
            mode = assumed.mode or SkillMatcher().mode
            key = (mode, known, assumed.active)
            kept = self._matchers.get(key)
            if kept is None or kept[0] != version:
                matcher = kept[1] if kept else SkillMatcher(mode=mode)
                skills = _assuming(manager, assumed.active)
                matcher.update(manager.list_skills() if known else skills.offered_skills())
                self._matchers = {**_newest(self._matchers), key: (version, matcher)}
                kept = self._matchers[key]
        if assumed.threshold is None:
            return kept[1]
        other = copy.copy(kept[1])  # another line over the same index
        other.threshold = assumed.threshold
        return other

    def provider(
        self, manager: SkillManager, version: int, assumed: Assumption = AS_IT_IS
    ) -> SkillContextProvider:
        """Return what every integration discloses these skills with."""
        if assumed == AS_IT_IS:
            return default_provider(manager)
        kept = self._providers.get(assumed)
        if kept is None or kept[0] != version:
            skills = _assuming(manager, assumed.active)
            matcher = self.matcher(manager, version, assumed)
            sources = default_sources(skills, ScriptTools(skills))
            kept = (version, SkillContextProvider(skills, matcher=matcher, tool_sources=sources))
            self._providers = {**_newest(self._providers), assumed: kept}
        return kept[1]


def _newest(kept: dict) -> dict:  # type: ignore[type-arg]
    return dict([*kept.items()][-_MAX_KEPT:])


def _assuming(manager: SkillManager, name: str) -> SkillManager:
    """Return a manager of the same skills whose authority also offers the one called `name`."""
    if not name:
        return manager
    other = copy.copy(manager)
    other.authority = AssumedSkillAuthority(manager.authority, canonical_name(name))
    other.shared_provider = None
    return other
