"""Disclosure of skills to a model: catalogue, envelopes, token budget, session state, neutral tools."""

import warnings
from typing import TYPE_CHECKING

from skillkit.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from skillkit.disclosure.catalogue import Catalogue, CatalogueStyle, render_catalogue
    from skillkit.disclosure.cost import CostReport, SkillCost, cost_report
    from skillkit.disclosure.disclosed import Disclosure, TokenUse
    from skillkit.disclosure.exceptions import SessionDataError, SkillRefusedError
    from skillkit.disclosure.offer import Matcher
    from skillkit.disclosure.placement import CompactionPlan, Insertion, plan_compaction, with_insertions
    from skillkit.disclosure.provider import SkillContextProvider
    from skillkit.disclosure.session import Activation, Origin, SkillSession
    from skillkit.disclosure.settings import DisclosureSettings, FallbackMode
    from skillkit.disclosure.tokens import EncodingCounter, TokenCounter, TokenEstimator
    from skillkit.disclosure.tool_result import ToolResult
    from skillkit.disclosure.tools import Effect, Tool, ToolSource
    from skillkit.matching import Match

__all__ = [
    "Activation",
    "Catalogue",
    "CatalogueStyle",
    "CompactionPlan",
    "CostReport",
    "Disclosure",
    "DisclosureSettings",
    "Effect",
    "EncodingCounter",
    "FallbackMode",
    "Insertion",
    "Match",
    "Matcher",
    "Origin",
    "SessionDataError",
    "SkillContextProvider",
    "SkillCost",
    "SkillRefusedError",
    "SkillSession",
    "TokenCounter",
    "TokenEstimator",
    "TokenUse",
    "Tool",
    "ToolResult",
    "ToolSource",
    "cost_report",
    "plan_compaction",
    "render_catalogue",
    "with_insertions",
]

_find = lazy_names(
    __name__,
    {
        "catalogue": "Catalogue CatalogueStyle render_catalogue",
        "cost": "CostReport SkillCost cost_report",
        "disclosed": "Disclosure TokenUse",
        "exceptions": "SessionDataError SkillRefusedError",
        "offer": "Match Matcher",
        "placement": "CompactionPlan Insertion plan_compaction with_insertions",
        "provider": "SkillContextProvider",
        "session": "Activation Origin SkillSession",
        "settings": "DisclosureSettings FallbackMode",
        "tokens": "EncodingCounter TokenCounter TokenEstimator",
        "tool_result": "ToolResult",
        "tools": "Effect Tool ToolSource",
    },
)


def __getattr__(name: str) -> object:
    if name == "MatchAnalytics":
        from skillkit.journal.usage import UsageCounter

        replacement = "skillkit.journal.usage.UsageCounter counts the events of a journal"
        warnings.warn(f"MatchAnalytics is gone in 0.7: {replacement}", DeprecationWarning, stacklevel=2)
        return UsageCounter
    return _find(name)
