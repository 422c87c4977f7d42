"""Add skills to the Anthropic SDK's tool runner.

python examples/anthropic_sdk.py claude-sonnet-5 "Summarise this CSV: month,amount; May,3; June,4"
"""

import sys

from anthropic import Anthropic

from skillkit.integrations.anthropic import AnthropicSkills


def answer(model: str, question: str) -> str:
    skills = AnthropicSkills("examples/skills")
    runner = skills.runner(
        Anthropic(), model=model, max_tokens=1024, messages=[{"role": "user", "content": question}]
    )
    message = runner.until_done()
    return "".join(block.text for block in message.content if block.type == "text")


if __name__ == "__main__":
    print(answer(*sys.argv[1:]))
