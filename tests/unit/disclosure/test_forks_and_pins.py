"""Skills that the program pins, that run as conversations of their own, and that want a model."""

import pytest

from skillkit.core.exceptions import ConfigurationError
from skillkit.disclosure import SkillSession
from skillkit.disclosure.disclosed import ModelChoice
from skillkit.disclosure.exceptions import SkillRefusedError

STUDY = "Study one subject in depth, please: the tides."


@pytest.fixture
def library(write_skill):
    write_skill("style", "# Our style\n", description="How we write letters", model="opus", effort="max")
    write_skill("deep-dive", "# Study\n", description="Study one subject in depth", context="fork")
    write_skill(
        "hidden", "# Hidden\n", description="Hidden", context="fork", **{"disable-model-invocation": "true"}
    )


def test_what_the_program_pins_is_in_every_conversation(library, provide, caplog):
    provider = provide(pinned=["style", "nosuch"])
    assert "# Our style" in provider.disclose("What is 2+2?", SkillSession()).everything
    assert "'nosuch' is not pinned" in caplog.text
    session = SkillSession()
    provider.pin("deep-dive", session)
    assert session.pinned == {"deep-dive"}
    with pytest.raises(SkillRefusedError):
        provider.pin("nosuch", session)
    by_requester = provide(pinned=lambda requester: ["style"] if not requester.tenant else [])
    assert "# Our style" in by_requester.disclose("What is 2+2?", SkillSession()).everything


def test_a_skill_that_forks_is_named_and_not_put_in(library, provide):
    provider, session = provide(), SkillSession()
    session.starts_forks = True
    disclosed = provider.disclose(STUDY, session)
    assert disclosed.active == ()
    assert "<id>deep-dive</id> fits and runs as a conversation of its own" in disclosed.note
    skill, identity = provider.forkable("Deep_Dive", "", session)
    assert (skill.name, identity) == ("deep-dive", "deep-dive")
    with pytest.raises(SkillRefusedError):
        provider.forkable("nosuch", "", session)


def test_only_the_order_of_the_user_starts_what_a_model_may_not(library, provide):
    provider, session = provide(), SkillSession()
    session.starts_forks = True
    with pytest.raises(SkillRefusedError):
        provider.forkable("hidden", "", session)
    ordered = provider.disclose("/hidden the tides", session)
    assert "<arguments>the tides</arguments>" in ordered.note
    assert provider.forkable("hidden", "the tides", session)[1] == "hidden"


def test_a_skill_chooses_the_model_for_the_turn_that_brought_it(library, provide):
    provider, session = provide(), SkillSession()
    provider.disclose("/style", session)
    assert provider.model_choice(session) == ModelChoice("opus", "max")
    provider.disclose("Good morning.", session)
    assert provider.model_choice(session) == ModelChoice()


def test_words_around_the_list_have_a_place_for_it(library, provide):
    with pytest.raises(ConfigurationError, match="template"):
        provide(template="No list here.")
