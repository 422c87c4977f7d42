"""Match requests with skills: ranked, with scores and reasons, or no match at all."""

from typing import TYPE_CHECKING

from skillkit.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from skillkit.matching.match import Match
    from skillkit.matching.matcher import MatchResult, SkillMatcher
    from skillkit.matching.settings import MatchingSettings, Mode

__all__ = [
    "Match",
    "MatchResult",
    "MatchingSettings",
    "Mode",
    "SkillMatcher",
]

__getattr__ = lazy_names(
    __name__,
    {
        "match": "Match",
        "matcher": "MatchResult SkillMatcher",
        "settings": "MatchingSettings Mode",
    },
)
