"""Add skills to an Agent Framework agent.

python examples/agent_framework_agent.py gpt-5-mini "Summarise this CSV: month,amount; May,3; June,4"
"""

import asyncio
import sys

from agent_framework import Agent
from agent_framework.openai import OpenAIChatCompletionClient

from skillkit.integrations.agent_framework import SkillsContextProvider


async def answer(model: str, question: str) -> str:
    skills = SkillsContextProvider("examples/skills")
    agent = Agent(OpenAIChatCompletionClient(model), context_providers=[skills])
    return (await agent.run(question)).text


if __name__ == "__main__":
    print(asyncio.run(answer(*sys.argv[1:])))
