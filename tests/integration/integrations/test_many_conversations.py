"""Sixty-four conversations on one manager in one process never see each other's skills."""

import asyncio
from pathlib import Path

from conformance.library import made, write

from skillkit.disclosure import SkillSession
from skillkit.integrations.conversation import Conversation

CONVERSATIONS = 64
TURNS = 4


async def test_conversations_stay_apart(tmp_path: Path):
    for number in range(CONVERSATIONS):
        write(tmp_path / "skills", f"skill-{number:02}", f"Number {number}.", "Work for $ARGUMENTS.\n")
    library = made(tmp_path / "skills")
    start = asyncio.Barrier(CONVERSATIONS)

    async def talk(number: int) -> None:
        conversation = Conversation(library.provider, SkillSession())
        await start.wait()
        own: set[str] = set()
        for turn in range(TURNS):
            name = f"skill-{(number + turn) % CONVERSATIONS:02}"
            disclosure = await conversation.adisclose("Good morning.")
            assert set(disclosure.active) == own
            call = {"skill_id": name, "arguments": f"customer {number}"}
            first, again = await asyncio.gather(
                conversation.call("load_skill", call), conversation.call("load_skill", call)
            )
            own.add(name)
            delivered = [text for text in (first.text, again.text) if f"Work for customer {number}." in text]
            assert len(delivered) == 1
            assert set(conversation.session.active_ids) == own

    await asyncio.gather(*(talk(number) for number in range(CONVERSATIONS)))
    assert len(library.manager.list_skills()) == CONVERSATIONS
