"""One thin module a framework over the neutral tools."""

from skillkit.integrations.conversation import Conversation, default_provider, result_text
from skillkit.integrations.plain import SkillTools

__all__ = ["Conversation", "SkillTools", "default_provider", "result_text"]
