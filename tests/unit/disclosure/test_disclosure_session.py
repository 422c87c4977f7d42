"""A session remembers what is active, and survives being saved."""

import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from skillkit.disclosure import Activation, Origin, SessionDataError, SkillSession


def activation(name, digest="d", origin=Origin.LOADED, nonce=None):
    return Activation(name, nonce or f"nonce-{name}-{digest}", origin, digest=digest)


def test_the_same_text_is_activated_once():
    session = SkillSession()
    first = session.activate(activation("a", nonce="1"))
    assert session.activate(activation("a", nonce="2")) is first
    assert session.superseded() == {}


def test_another_text_of_the_same_skill_supersedes_the_first():
    session = SkillSession()
    session.activate(activation("a", "old"))
    session.activate(activation("a", "new"))
    assert [active.digest for active in session.active] == ["new"]
    assert session.superseded() == {"nonce-a-old": "a"}


def test_skills_keep_their_order_and_the_session_knows_which_was_used_last():
    session = SkillSession()
    for name in "abc":
        session.activate(activation(name))
    session.touch("a")
    session.touch("unknown")
    assert session.active_ids == ("a", "b", "c")
    assert session.least_recent() == ("b", "c", "a")
    session.deactivate("b")
    session.deactivate("b")
    assert session.least_recent() == ("c", "a")
    assert session.superseded() == {"nonce-b-d": "b"}


def test_a_session_survives_json():
    session = SkillSession()
    session.show("## Agent Skills …", "digest", ["a", "b"])
    session.activate(activation("a", "old", Origin.MATCHED))
    session.activate(activation("a", "new", Origin.INVOKED))
    session.activate(activation("b"))
    session.touch("a")
    restored = SkillSession.from_data(json.loads(json.dumps(session.to_data())))
    assert restored.active == session.active
    assert restored.least_recent() == ("b", "a")
    assert restored.superseded() == session.superseded()
    assert (restored.catalogue, restored.catalogue_digest, restored.listed) == (
        "## Agent Skills …",
        "digest",
        ("a", "b"),
    )
    assert restored.to_data() == session.to_data()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_session_can_be_copied_and_pickled(copied):
    session = SkillSession()
    session.activate(activation("a"))
    twin = copied(session)
    assert twin.to_data() == session.to_data()
    twin.deactivate("a")
    assert session.active_ids == ("a",)


GOOD = SkillSession().to_data()


@pytest.mark.parametrize(
    "data",
    [
        {},
        {**GOOD, "version": 99},
        {**GOOD, "active": None},
        {**GOOD, "active": ["a"]},
        {**GOOD, "active": [{"skill_id": "a"}]},
        {**GOOD, "active": [{**SkillSession().to_data()}]},
        {**GOOD, "past": []},
        {**GOOD, "past": {"a": 1}},
        {**GOOD, "listed": "abc"},
        {**GOOD, "recent": None},
        {**GOOD, "catalogue": None},
        {key: value for key, value in GOOD.items() if key != "listed"},
    ],
)
def test_damaged_data_is_refused_by_name(data):
    with pytest.raises(SessionDataError, match="Start a new session"):
        SkillSession.from_data(data)


def test_an_unknown_origin_is_damage():
    entry = {"skill_id": "a", "nonce": "n", "origin": "magic", "arguments": "", "digest": ""}
    with pytest.raises(SessionDataError, match="magic"):
        SkillSession.from_data({**GOOD, "active": [entry]})


def test_parallel_calls_agree_on_one_activation():
    session = SkillSession()
    with ThreadPoolExecutor(8) as pool:
        kept = list(pool.map(lambda n: session.activate(activation("a", nonce=str(n))), range(100)))
    assert len({id(one) for one in kept}) == 1


def test_a_request_is_news_once():
    session = SkillSession()
    assert [session.begin_request(text) for text in ("a", "a", "b", "a")] == [True, False, True, True]
