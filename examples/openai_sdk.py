"""Add skills to a loop on the OpenAI SDK.

python examples/openai_sdk.py gpt-5-mini "Summarise this CSV: month,amount; May,3; June,4"
"""

import asyncio
import sys
from typing import Any

from openai import OpenAI

from skillkit.integrations import SkillTools


def approve(name: str, arguments: Any) -> bool:
    """Ask before a script runs."""
    return input(f"Run {name} with {arguments}? [y/N] ").strip().lower() == "y"


async def answer(model: str, question: str) -> str:
    client, skills = OpenAI(), SkillTools("examples/skills", approve=approve)
    messages: list[Any] = [{"role": "user", "content": question}]
    while True:
        reply = client.chat.completions.create(model=model, **skills.request(messages))
        message = reply.choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content or ""
        messages += [await skills.answer(call) for call in message.tool_calls]


if __name__ == "__main__":
    print(asyncio.run(answer(*sys.argv[1:])))
