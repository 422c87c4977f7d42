"""A skill written in Python, in a loop on chat completions.

python examples/guides/python_skill.py gpt-5-mini "How many words has 'the tide comes and the tide goes'?"
"""

import sys

from openai import OpenAI

from skillkit.integrations import SkillTools
from skillkit.toolsets import PythonSkill, PythonSkills

words = PythonSkill(
    "word-count",
    "Count the words of a text and say which occur most. Use when somebody asks how long a text is.",
    "Run the script count_words. Look up what counts as a word in references/rules.md.",
)


@words.resource("references/rules.md")
def rules() -> str:
    return "A word is a run of letters or digits; upper and lower case are the same."


@words.script
def count_words(text: str, most: int = 3) -> dict[str, object]:
    """Count the words of a text."""
    import re
    from collections import Counter

    found = re.findall(r"\w+", text.lower())
    return {"words": len(found), "most": [word for word, _ in Counter(found).most_common(most)]}


@words.tool
def remember_count(words: int) -> str:
    """Keep a count for the next question."""
    counts.append(words)
    return f"{len(counts)} counts are kept."


counts: list[int] = []


def answer(model: str, question: str) -> str:
    skills = SkillTools(PythonSkills(words), approve=lambda tool, arguments: True)
    history: list[dict[str, object]] = [{"role": "user", "content": question}]
    while True:
        reply = OpenAI().chat.completions.create(model=model, **skills.request(history)).choices[0].message
        history.append(reply.model_dump(exclude_none=True))
        if not reply.tool_calls:
            return reply.content or ""
        history += [skills.answer_blocking(call) for call in reply.tool_calls]


if __name__ == "__main__":
    print(answer(*sys.argv[1:]))
