"""What the embedded model reads of the texts that stand among the messages."""

from agent_framework import Message

from skillkit.agent.models.chat_requests import with_skills_in_instructions
from skillkit.disclosure import Insertion
from skillkit.integrations.agent_framework import as_message


def test_a_small_model_finds_skills_in_its_instructions_and_what_was_said_in_the_messages():
    said = Message("user", ["Fill in this form."])
    skill = as_message(Insertion(1, "<skill_context …>", kept=True))
    messages, options = with_skills_in_instructions([said, skill], {"instructions": "Be brief.", "seed": 1})
    assert messages == [said]
    assert options == {"instructions": "Be brief.\n\n<skill_context …>", "seed": 1}
