"""Examples that skills bring along: what was asked, and the script that does it.

They stand in the header as `metadata.examples`, a line each: `What are the odds of rain? => search rain`.
"""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from skillkit.core.models import SkillMetadata

MOST = 3
_ARROW = "=>"
_MAX_LINE = 300


@dataclass(frozen=True, slots=True)
class Example:
    """A request and the run of a script that answers it."""

    request: str
    skill: str
    script: str
    arguments: tuple[str, ...]
    tool: str = "script_run"

    def call(self) -> str:
        """The call as a small model writes it."""
        arguments: dict[str, Any] = {"skill_name": self.skill, "script_name": self.script}
        if self.arguments:
            arguments["args"] = list(self.arguments)
        return json.dumps({"tool": self.tool, "arguments": arguments}, ensure_ascii=False)


def examples_of(skill: SkillMetadata) -> list[Example]:
    """Return the examples that a skill brings along; a line that cannot be read is passed over."""
    text = skill.metadata.get("examples")
    found = []
    for line in text.splitlines() if isinstance(text, str) else ():
        request, arrow, command = line[:_MAX_LINE].partition(_ARROW)
        try:
            words = shlex.split(command)
        except ValueError:
            continue
        if arrow and request.strip() and words:
            found.append(Example(request.strip(), skill.name, words[0], tuple(words[1:])))
    return found


def nearest(request: str, examples: Sequence[Example], limit: int = MOST) -> list[Example]:
    """Return the examples that have most in common with a request, the nearest last.

    The last is what a model this small repeats most readily.
    """
    from skillkit.matching.terms import terms

    asked = set(terms(request))

    def likeness(example: Example) -> float:
        words = set(terms(example.request))
        return len(asked & words) / (len(words) or 1)

    ranked = sorted(enumerate(examples), key=lambda item: (-likeness(item[1]), item[0]))
    return [example for _, example in reversed(ranked[:limit])]
