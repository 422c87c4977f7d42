"""Answers that are not whole: keeping what there is of them."""

from dataclasses import dataclass, field

from skillkit.agent.conversations import SavedConversation, text_message, text_of

STOPPED = "[The user stopped this answer.]"
FAILED = "[This answer failed before it was whole.]"


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
