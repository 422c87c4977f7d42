"""Skills for any server that speaks OpenAI's chat completions: Ollama, vLLM, llama.cpp, a gateway.

OPENAI_BASE_URL=http://localhost:11434/v1 OPENAI_MODEL=qwen3 python examples/openai_compatible.py "Hello"
"""

import asyncio
import json
import os
import sys
import urllib.request
from pathlib import Path
from typing import Any

from skillkit import SkillManager
from skillkit.integrations import SkillTools

SKILLS = Path(__file__).parent / "skills"


def complete(with_skills: dict[str, Any]) -> dict[str, Any]:
    """One request to the model; its message comes back."""
    request = urllib.request.Request(
        f"{os.environ['OPENAI_BASE_URL'].rstrip('/')}/chat/completions",
        data=json.dumps({"model": os.environ.get("OPENAI_MODEL", "default"), **with_skills}).encode(),
        headers={
            "content-type": "application/json",
            "authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', 'none')}",
        },
    )
    with urllib.request.urlopen(request) as response:
        message: dict[str, Any] = json.load(response)["choices"][0]["message"]
    return message


async def answer(skills: SkillTools, question: str) -> str:
    """The conversation until the model has nothing more to call."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
    while True:
        message = await asyncio.to_thread(complete, skills.request(messages))
        messages.append(message)
        if not message.get("tool_calls"):
            return str(message["content"])
        messages += [await skills.answer(call) for call in message["tool_calls"]]


def approve(name: str, arguments: Any) -> bool:
    """Nothing runs without being asked for."""
    return input(f"Run {name} with {json.dumps(arguments)}? [y/N] ").strip().lower() == "y"


def main() -> None:
    if "OPENAI_BASE_URL" not in os.environ:
        print("Set OPENAI_BASE_URL, for example to http://localhost:11434/v1 of an Ollama on this machine.")
        return
    manager = SkillManager(project_skill_dir=SKILLS, anthropic_config_dir="")
    question = " ".join(sys.argv[1:]) or "What can you help me with?"
    print(asyncio.run(answer(SkillTools(manager, approve=approve), question)))


if __name__ == "__main__":
    main()
