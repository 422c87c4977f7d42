"""Add skills to a Pydantic AI agent.

python examples/pydantic_ai_agent.py openai-chat:gpt-5-mini "Summarise this CSV: month,amount; May,3; June,4"
"""

import sys
from typing import Any

from pydantic_ai import Agent

from skillkit.integrations.pydantic_ai import SkillsCapability


def answer(model: Any, question: str) -> str:
    agent = Agent(model, capabilities=[SkillsCapability("examples/skills")])
    return agent.run_sync(question).output


if __name__ == "__main__":
    print(answer(*sys.argv[1:]))
