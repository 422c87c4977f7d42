"""Which skills of an offer fit a request: one matcher for all conversations of a provider."""

from collections.abc import Iterable
from concurrent.futures import Future
from threading import RLock

from skillkit.core.models import SkillMetadata
from skillkit.disclosure.matches import Matcher, RememberingMatcher
from skillkit.disclosure.offer import Offer
from skillkit.matching import Match

NEAREST = 20
"""Skills that are named with a request, and written into the journal, beside those that matched."""
RANKED = NEAREST + 8
"""Asked of the matcher, so that active skills and copies of one another leave enough to name."""
_WORTH_NAMING, _USUAL_SIZE = 0.004, 100


def worth_naming(skills: int) -> float:
    """The confidence below which a skill is not even named, in a library of so many.

    The line rises with the library, and with it a skill that is as near as before has less confidence.
    """
    return _WORTH_NAMING * float((_USUAL_SIZE / max(skills, _USUAL_SIZE)) ** 0.25)


def nearest(ranked: Iterable[Match], active: Iterable[SkillMetadata], floor: float) -> list[Match]:
    """Return what is worth a line of what a matcher ranked, beside the skills in use."""
    said = {skill.description for skill in active}
    near: list[Match] = []
    for match in ranked:
        named = match.skill.description in said  # a copy under another name would say nothing more
        if match.reasons and match.score >= floor and not named:
            said.add(match.skill.description)
            near.append(match)
    return near[:NEAREST]


class OfferMatcher:
    """Keeps a matcher filled with what is on offer; what is not on offer is never returned."""

    def __init__(self, matcher: Matcher | None = None) -> None:
        """Without a `matcher`, one of words is made at the first request."""
        self._matcher = RememberingMatcher(matcher) if matcher is not None else None
        self._library: tuple[SkillMetadata, ...] | None = None
        self._filling: Future[None] = Future()
        self._lock = RLock()

    def filled(self, offer: Offer) -> RememberingMatcher:
        """Return the matcher, made and filled when it is first needed."""
        with self._lock:
            if self._matcher is None:
                from skillkit.matching import SkillMatcher  # not before something is matched

                self._matcher = RememberingMatcher(SkillMatcher())
            matcher, filling = self._matcher, self._filling
            begun = offer.library is self._library
            if not begun:
                filling = self._filling = Future()
                self._library = offer.library
        if not begun:  # without the lock: an index takes its time
            try:
                matcher.update(offer.library)
            except BaseException as error:
                with self._lock:
                    self._library = None
                filling.set_exception(error)
                raise
            filling.set_result(None)
        filling.result()
        return matcher

    def match(self, request: str, offer: Offer, limit: int) -> list[Match]:
        """Return the skills that fit, best first."""
        found = self.filled(offer).match(request, limit + len(offer.waiting))
        return [match for match in found if offer.admits(match.skill)][:limit]

    def rank(self, request: str, offer: Offer) -> list[Match]:
        """Return the nearest skills, whether or not they are near enough to match."""
        found = self.filled(offer).rank(request, RANKED + len(offer.waiting))
        return [match for match in found if offer.admits(match.skill)]

    def near(
        self, request: str, offer: Offer, active: Iterable[SkillMetadata], limit: int
    ) -> tuple[Match, ...]:
        """Return the nearest skills beside those in use, as far as there is a reason to name them."""
        near = nearest(self.rank(request, offer), active, worth_naming(len(offer.library)))
        return tuple(near[:limit])

    def line(self, offer: Offer) -> float | None:
        """Return the score from which a skill counts as matched, where the engine has one."""
        return self.filled(offer).line
