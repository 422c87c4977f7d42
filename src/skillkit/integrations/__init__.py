"""One thin module a framework over the neutral tools."""

from skillkit.integrations.cancelling import BlockingRun, RunCancelledError
from skillkit.integrations.conversation import Conversation
from skillkit.integrations.default_tools import default_provider
from skillkit.integrations.plain import SkillTools

__all__ = ["BlockingRun", "Conversation", "RunCancelledError", "SkillTools", "default_provider"]
