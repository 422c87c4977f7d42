"""Add skills to an agent of the OpenAI Agents SDK.

python examples/openai_agents.py gpt-5-mini "Summarise this CSV: month,amount; May,3; June,4"
"""

import sys
from typing import Any

from skillkit.integrations.openai_agents import SkillAgent


def answer(model: Any, question: str) -> str:
    agent = SkillAgent(name="assistant", model=model, skills="examples/skills")
    return str(agent.run_sync(question).final_output)


if __name__ == "__main__":
    print(answer(*sys.argv[1:]))
