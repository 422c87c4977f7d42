"""Answers that are not whole: telling them from whole ones, and keeping what there is of them."""

from dataclasses import dataclass, field

from skillkit.agent.conversations import SavedConversation, text_message, text_of
from skillkit.agent.exceptions import UnfinishedAnswerError
from skillkit.agent.models.provider import ChatProvider

STOPPED = "[The user stopped this answer.]"
FAILED = "[This answer failed before it was whole.]"


def refuse_unfinished(finish_reason: object, has_text: bool, provider: ChatProvider) -> None:
    """Raise when the model did not come to an end of its own."""
    match finish_reason:
        case "length":
            why = "it became longer than the model may write. Ask for the rest, or for something shorter"
        case "content_filter":
            why = "the provider's filter stopped it. Say it in other words"
        case None if provider.marks_end:
            why = "the connection ended before its end mark came. Try again"
        case _ if not has_text:
            why = "it is empty. Try again, or choose another model: --model NAME"
        case _:
            return
    raise UnfinishedAnswerError(f"The answer of the provider '{provider.name}' is not whole: {why}")


@dataclass
class UnsavedTurn:
    """What was asked and answered since the conversation was last saved."""

    question: str
    shown: bool = False
    """Whether anything was handed out."""
    _said: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        self.shown = True
        self._said.append(text)

    def saved(self) -> None:
        """The model has finished a message, and it is kept."""
        self._said.clear()

    def keep(self, conversation: SavedConversation, *, stopped: bool) -> None:
        """Put the question and the part of the answer into the conversation, marked as what they are."""
        conversation.settle()
        mark = STOPPED if stopped else FAILED
        latest = [message for message in conversation.messages if message.get("role") == "user"][-1:]
        if not any(text_of(message) == self.question for message in latest):
            conversation.add([text_message("user", self.question)])
        said = "".join(self._said).strip()
        last = conversation.messages[-1]
        if not said and last.get("role") == "assistant" and text_of(last):
            last["contents"] = [*last["contents"], {"type": "text", "text": f"\n\n{mark}"}]
            return
        conversation.add([text_message("assistant", f"{said}\n\n{mark}" if said else mark)])
