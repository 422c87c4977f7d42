"""Which skills fit a request: ranked, with scores and reasons, or none at all."""

from skillkit.matching.matcher import Match, MatchResult, SkillMatcher
from skillkit.matching.settings import MatchingSettings, Mode

__all__ = ["Match", "MatchResult", "MatchingSettings", "Mode", "SkillMatcher"]
