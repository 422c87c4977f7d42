"""A scripted model: what it answers, and a record of everything it was shown."""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from skillkit.core.authority import Requester
from skillkit.disclosure import SkillContextProvider
from skillkit.integrations import BlockingRun, RunCancelledError


@dataclass(frozen=True)
class Call:
    """A tool call that the model makes."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


Reply = str | Sequence[Call]
"""What the model answers: a text that ends the turn, or calls."""


@dataclass(frozen=True)
class Seen:
    """One request as it reached the model."""

    instructions: str
    tools: Mapping[str, Mapping[str, Any]]
    """JSON schemas by name."""
    results: Sequence[str]
    """Answers to the calls of the reply before."""
    messages: Sequence[str] = ()
    """Everything after the instructions, part by part as JSON, in the order in which it was sent."""
    failed: Sequence[bool] = ()
    """Which of the results the framework marks as failures, by its own means."""

    @property
    def whole(self) -> str:
        """Instructions and messages."""
        return "\n\n".join([self.instructions, *map(_decoded, self.messages)])

    @property
    def stable(self) -> bytes:
        """What the next turn must begin with, to the byte: all but the note about this request alone."""
        kept = [part for part in self.messages if "<skill_note>" not in part]
        assert list(self.messages[: len(kept)]) == kept, "the note stands last"
        return "\n".join([json.dumps(self.tools), self.instructions, *kept]).encode()


def _decoded(part: str) -> str:
    """The texts of a part, as they were before they were written as JSON."""
    texts: list[str] = []

    def collect(value: object) -> None:
        if isinstance(value, str):
            texts.append(value)
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            collect(inner)

    collect(json.loads(part))
    return "\n".join(texts)


@dataclass
class Turn:
    """A message of the user and all that came of it."""

    seen: list[Seen] = field(default_factory=list)
    text: str = ""
    asked: list[str] = field(default_factory=list)
    """Tools that the user was asked to approve."""
    files: list[str] = field(default_factory=list)
    """Names of what scripts made, as the framework hands it to the program."""

    @property
    def failed(self) -> list[bool]:
        return [failed for seen in self.seen for failed in seen.failed]

    @property
    def results(self) -> list[str]:
        return [result for seen in self.seen for result in seen.results]


def say(word: str) -> str:
    """Say a word."""
    return f"<<{word}>>"


class Model:
    """Gives the scripted replies in order and notes what it sees."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.turn = Turn()
        self.calls = 0

    def begin(self, replies: Sequence[Reply]) -> Turn:
        self.replies = list(replies)
        self.turn = Turn()
        return self.turn

    def answer(self, seen: Seen) -> Reply:
        self.turn.seen.append(seen)
        return self.replies.pop(0)

    def call_id(self) -> str:
        self.calls += 1
        return f"call_{self.calls}"


async def in_blocking_run(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a blocking call in a thread returns; a task that is cancelled ends it as a program would."""
    run = BlockingRun()
    work = asyncio.create_task(asyncio.to_thread(run.call, function, *arguments))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        run.cancel()
        with pytest.raises(RunCancelledError):
            await work
        raise


class Driver(ABC):
    """One integration in the hands of a user: an agent of that framework with one conversation."""

    title: ClassVar[str]
    variant: ClassVar[str] = ""
    unable: ClassVar[Mapping[str, str]] = {}
    """Scenarios that the framework cannot express, and why."""

    def __init__(self, provider: SkillContextProvider) -> None:
        self.provider = provider
        self.model = Model()

    @abstractmethod
    async def turn(self, user: str, replies: Sequence[Reply], *, approve: bool = True) -> Turn:
        """The user says something, the model answers as scripted; `approve` is the answer when asked."""

    sees_history: ClassVar[bool] = True
    """Whether the program sees all that the model will see; a service may keep it."""
    in_thread = False
    """Whether a blocking call runs in a thread, so that somebody else can end it."""
    own_tool = False
    """Whether the agent has a tool of its own, `say`, beside those of skills."""
    own_call = Call("say", {"word": "ahoy"})
    own_result = "ahoy"

    def give_own_tool(self) -> None:
        """Give the agent a tool of its own."""
        self.own_tool = True

    requester: Requester | None = None

    def ask_for(self, requester: Requester) -> None:
        """Say on whose behalf the authority is asked from now on."""
        self.requester = requester
        self.begin_conversation()

    def other_user(self) -> "Driver":
        """Somebody else, with a conversation of their own, on the same agent."""
        other = copy(self)
        other.begin_conversation()
        return other

    def begin_conversation(self) -> None:
        """Start from an empty history."""
        raise NotImplementedError

    async def restart(self) -> None:
        """Go on with this conversation as a new process would, from what was saved."""
        raise NotImplementedError

    async def forget(self) -> None:
        """Shorten the history of this conversation, as a limit or a summary does."""
        raise NotImplementedError

    async def close(self) -> None:  # noqa: B027 -- most drivers hold nothing
        """Give back what the driver holds."""
