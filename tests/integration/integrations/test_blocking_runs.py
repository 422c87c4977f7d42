"""A blocking call that another thread ends; with each framework it is in the conformance suite."""

from pathlib import Path

import pytest

from skillkit import SkillManager
from skillkit.integrations import BlockingRun, Conversation, RunCancelledError


@pytest.fixture
def conversation(write_skill, tmp_path: Path) -> Conversation:
    write_skill("greeter", "Say hello.", into=tmp_path / "skills")
    return Conversation(SkillManager(project_skill_dir=tmp_path / "skills", anthropic_config_dir=""))


def test_what_is_not_cancelled_returns_and_raises_as_ever(conversation: Conversation) -> None:
    run = BlockingRun()
    assert "Say hello." in run.call(conversation.call_blocking, "load_skill", {"skill_id": "greeter"}).text
    with pytest.raises(ZeroDivisionError):
        run.call(lambda: 1 // 0)


def test_a_cancelled_run_calls_no_tool_and_makes_no_request(conversation: Conversation) -> None:
    run = BlockingRun()
    run.cancel()
    with pytest.raises(RunCancelledError):
        run.call(conversation.call_blocking, "load_skill", {"skill_id": "greeter"})
    with pytest.raises(RunCancelledError):
        run.call(conversation.disclose, "Good morning.")
    assert conversation.session.active_ids == ()


def test_one_run_ends_and_another_of_the_same_conversation_goes_on(conversation: Conversation) -> None:
    ended, other = BlockingRun(), BlockingRun()
    ended.cancel()
    assert not other.call(conversation.call_blocking, "load_skill", {"skill_id": "greeter"}).failed


def test_a_framework_that_takes_the_end_of_a_tool_for_an_answer_does_not_hide_it() -> None:
    run = BlockingRun()
    with pytest.raises(RunCancelledError):
        run.call(run.cancel)
