"""Skills with the OpenAI SDK, for any server that speaks chat completions: Ollama, vLLM, a gateway.

OPENAI_BASE_URL=http://localhost:11434/v1 OPENAI_API_KEY=none python examples/openai_sdk.py qwen3 "Hello"
"""

import asyncio
import sys
from typing import Any

from openai import OpenAI

from skillkit.integrations import SkillTools


def approve(name: str, arguments: Any) -> bool:
    """Scripts run only after a yes."""
    return input(f"Run {name} with {arguments}? [y/N] ").strip().lower() == "y"


async def answer(model: str, question: str) -> str:
    client, skills = OpenAI(), SkillTools("examples/skills", approve=approve)
    messages: list[Any] = [{"role": "user", "content": question}]
    while True:
        reply = client.chat.completions.create(model=model, **skills.request(messages))
        message = reply.choices[0].message.model_dump(exclude_none=True)
        messages.append(message)
        if not message.get("tool_calls"):
            return str(message["content"])
        messages += [await skills.answer(call) for call in message["tool_calls"]]


if __name__ == "__main__":
    print(asyncio.run(answer(*sys.argv[1:])))
