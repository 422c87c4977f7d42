"""What the embedded model may reply to a request, and what is left of that after a reply that will not do."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from skillkit.agent.models.constrained import (
    ANSWER,
    ASK,
    CANNOT,
    Call,
    Echo,
    ParsedReply,
    Question,
    Repeated,
    ToolSpec,
)
from skillkit.agent.models.grounding import MadeUp, question_for

Outcome = ParsedReply | MadeUp | Repeated | Echo | None


@dataclass(frozen=True, slots=True)
class Choice:
    """What the model may reply: a call of a tool, a skill to describe, or one of the forms in words."""

    tools: Sequence[ToolSpec] = ()
    about: Sequence[str] = ()
    forms: Sequence[str] = ()
    named: bool = False
    """Whether the request names a skill."""

    @property
    def is_talk(self) -> bool:
        """Whether only an answer is possible: then the model may write as it is used to."""
        return not self.tools and not self.about and tuple(self.forms) == (ANSWER,)

    @property
    def is_command(self) -> bool:
        """Whether the request is for one of these tools, or for a question back."""
        return bool(self.tools) and not self.about and tuple(self.forms) == (ASK,)

    def asking(self, outcome: Outcome, made_up: MadeUp | None = None) -> Outcome:
        """Return a reply; a question that asks nothing asks for what was made up or the first tool needs."""
        if not isinstance(outcome, Question) or re.search(r"[?？؟;]", outcome.text):
            return outcome
        if made_up is not None:
            return made_up
        for tool in self.tools:
            for name in tool.parameters.get("required", ()):
                schema = tool.parameters.get("properties", {}).get(name, {})
                if "enum" not in schema:
                    return Question(question_for(Call(tool.name, {}), name, schema))
        return outcome

    def after(self, outcome: Outcome, request: str) -> "Choice | None":
        """Return what is left to reply, in words, after something that will not do; None if it will."""
        forms: tuple[str, ...]
        match outcome:
            case MadeUp(runs_script=True):  # whoever comes near a script wants it to run
                return replace(self, tools=(), forms=(ASK,))
            case MadeUp() if not self.named and tuple(self.forms) == (ASK,):  # its question is the reply
                return None
            case MadeUp():  # it may have been the wrong idea
                forms = (ASK, ANSWER)
            case Echo() if self.tools:  # what was said is to be given to a tool
                return replace(self, about=(), forms=())
            case Repeated():  # it does not get on with this
                return replace(self, tools=(), forms=(ANSWER, CANNOT))
            case Question() if outcome.repeats(request):
                forms = (ANSWER,)
            case _:
                return None
        return replace(self, tools=(), forms=() if self.named else forms)
