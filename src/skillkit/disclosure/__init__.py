"""What the model sees: catalogue, envelope, budget, session memory, the neutral tools."""

from typing import TYPE_CHECKING

from skillkit.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from skillkit.disclosure.analytics import MatchAnalytics, MatchRecord, SkillMatches
    from skillkit.disclosure.catalogue import Catalogue, CatalogueStyle, render_catalogue
    from skillkit.disclosure.compaction import CompactionPlan, plan_compaction
    from skillkit.disclosure.cost import CostReport, SkillCost, cost_report
    from skillkit.disclosure.disclosed import Disclosure, TokenUse
    from skillkit.disclosure.exceptions import SessionDataError, SkillRefusedError
    from skillkit.disclosure.matches import Matcher, RememberingMatcher
    from skillkit.disclosure.placement import Insertion, with_insertions
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
    "MatchAnalytics",
    "MatchRecord",
    "Matcher",
    "Origin",
    "RememberingMatcher",
    "SessionDataError",
    "SkillContextProvider",
    "SkillCost",
    "SkillMatches",
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

__getattr__ = lazy_names(
    __name__,
    {
        "analytics": "MatchAnalytics MatchRecord SkillMatches",
        "catalogue": "Catalogue CatalogueStyle render_catalogue",
        "compaction": "CompactionPlan plan_compaction",
        "cost": "CostReport SkillCost cost_report",
        "disclosed": "Disclosure TokenUse",
        "exceptions": "SessionDataError SkillRefusedError",
        "matches": "Match Matcher RememberingMatcher",
        "placement": "Insertion with_insertions",
        "provider": "SkillContextProvider",
        "session": "Activation Origin SkillSession",
        "settings": "DisclosureSettings FallbackMode",
        "tokens": "EncodingCounter TokenCounter TokenEstimator",
        "tool_result": "ToolResult",
        "tools": "Effect Tool ToolSource",
    },
)
