"""Add skills to a LangChain agent.

python examples/langchain_agent.py openai:gpt-5-mini "Summarise this CSV: month,amount; May,3; June,4"
"""

import sys
from typing import Any

from langchain.agents import create_agent

from skillkit.integrations.langchain import SkillsMiddleware


def answer(model: Any, question: str) -> str:
    agent = create_agent(model, middleware=[SkillsMiddleware("examples/skills")])
    state = agent.invoke({"messages": [{"role": "user", "content": question}]})
    return str(state["messages"][-1].text)


if __name__ == "__main__":
    print(answer(*sys.argv[1:]))
