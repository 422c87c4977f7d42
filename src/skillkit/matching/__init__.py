"""Which skills fit a request: ranked, with scores and reasons, or none at all."""

from typing import TYPE_CHECKING

from skillkit.matching.matcher import Match, MatchResult, SkillMatcher
from skillkit.matching.settings import MatchingSettings, Mode

if TYPE_CHECKING:
    from skillkit.matching.evaluation import Evaluation, EvaluationCase, evaluate, read_cases

__all__ = [
    "Evaluation",
    "EvaluationCase",
    "Match",
    "MatchResult",
    "MatchingSettings",
    "Mode",
    "SkillMatcher",
    "evaluate",
    "read_cases",
]
_LATER = {
    "Evaluation": "evaluation",
    "EvaluationCase": "evaluation",
    "evaluate": "evaluation",
    "read_cases": "evaluation",
}


def __getattr__(name: str) -> object:
    """What few programs need is imported when it is asked for."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
