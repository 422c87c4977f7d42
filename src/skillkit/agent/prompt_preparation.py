"""States of prompts that everybody needs: the beginnings with the bundled skills, processed once."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from skillkit.agent.conversations import ConversationStore
from skillkit.agent.models.local import LocalProvider
from skillkit.agent.runtime import AgentRuntime
from skillkit.core.models import SourceType
from skillkit.install.enabled import EnabledSkills

Advance = Callable[[int, int], object]
"""Called with how many beginnings are done, and of how many."""


async def prepare_prompts(provider: LocalProvider, advance: Advance) -> None:
    """Process the beginning of a prompt without a skill in use, then with each bundled skill."""
    from skillkit.agent.models.local_client import PreparingClient

    enabled = EnabledSkills(environment={"AGENT_SKILLS": "all"})
    client = PreparingClient(provider.engine(), provider.model)
    requests = _requests(enabled)
    advance(0, len(requests))
    with tempfile.TemporaryDirectory() as home:
        for done, request in enumerate(requests, 1):
            conversation = ConversationStore(Path(home)).new()
            await AgentRuntime(provider, enabled, conversation, home=Path(home), client=client).answer(
                request
            )
            advance(done, len(requests))


def _requests(enabled: EnabledSkills) -> Sequence[str]:
    """Return a request that needs no skill, and for each bundled skill one that puts it to use."""
    skills = [skill for skill in enabled.manager.offered_skills() if skill.source is SourceType.BUNDLED]
    return ["Thanks!", *(f"/{skill.name}" for skill in skills)]
