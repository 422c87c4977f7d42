"""Remembered metadata is exactly what was found, or it is not remembered."""

import json
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skillkit.core.models import Diagnostic, Permissions, Severity, SkillMetadata, SourceType, Triggers
from skillkit.core.names import refusal
from skillkit.matching.records import decode, encode

TEXT = st.text(max_size=20)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=5,
)
DIAGNOSTIC = st.builds(
    Diagnostic,
    TEXT.map(lambda name: Path("/skills") / name.replace("\0", "")),
    TEXT,
    st.sampled_from(Severity),
    TEXT,
    st.none() | st.integers(),
    st.none() | st.integers(),
)
SKILL = st.builds(
    SkillMetadata,
    name=st.from_regex(r"[a-z]{1,10}(-[a-z]{1,5})?", fullmatch=True),
    description=TEXT,
    skill_path=st.just(Path("/skills/one/SKILL.md")),
    allowed_tools=TEXTS,
    version=st.none() | TEXT,
    disable_model_invocation=st.booleans(),
    source=st.sampled_from(SourceType),
    source_label=TEXT,
    metadata=st.dictionaries(TEXT, PLAIN, max_size=2),
    user_invocable=st.booleans(),
    triggers=st.builds(Triggers, TEXTS, TEXTS, TEXTS),
    scripts=st.none() | TEXTS,
    permissions=st.builds(
        Permissions, TEXTS, st.booleans(), st.none() | st.floats(0, 1e6) | st.integers(0, 600)
    ),
    extra=st.dictionaries(TEXT, PLAIN, max_size=2),
    recovered=st.booleans(),
    diagnostics=st.lists(DIAGNOSTIC, max_size=2).map(tuple),
)


@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(SKILL)
def test_a_skill_comes_back_exactly_or_not_at_all(skill):
    text = encode(skill)
    if text is not None:
        again = decode(text)
        assert again == skill
        assert again.diagnostics == skill.diagnostics
        assert [type(getattr(again, field.name)) for field in fields(skill)] == [
            type(getattr(skill, field.name)) for field in fields(skill)
        ]


def whole() -> SkillMetadata:
    return SkillMetadata(
        "one",
        "What it does",
        Path("/skills/one/SKILL.md"),
        source=SourceType.PROJECT,
        triggers=Triggers(("k",), ("v",), ("p",)),
        permissions=Permissions(("A_*",), True, 5.0),
        scripts=("run.py",),
        extra={"tags": ["a", {"b": 1}]},
        diagnostics=(Diagnostic(Path("/skills/one/SKILL.md"), "unknown-field", Severity.INFO, "m", 3),),
    )


def test_every_field_is_kept():
    assert decode(encode(whole()) or "") == whole()


@pytest.mark.parametrize("extra", [{"when": {1, 2}}, {"nan": float("nan")}, {"key": (1, 2)}, {"b": b"bytes"}])
def test_what_json_would_change_is_not_remembered(extra):
    skill = SkillMetadata("one", "d", Path("/s/SKILL.md"), source=SourceType.PROJECT, extra=extra)
    assert encode(skill) is None


@pytest.mark.parametrize(
    "change",
    [
        {"name": 5},
        {"name": "../up"},
        {"name": "a/b"},
        {"unknown": "field"},
        {"skill_path": None},
        {"source": "moon"},
        {"source": None, "skill_path": "/does/not/exist/SKILL.md"},
        {"triggers": "text"},
        {"triggers": [["k"], [5], []]},
        {"permissions": [["A"], 1, None]},
        {"permissions": [["A"], True, "soon"]},
        {"permissions": [[]]},
        {"recovered": "yes"},
        {"scripts": {"a": 1}},
        {"extra": []},
        {"diagnostics": [["/p", "c", "loud", "m", None, None]]},
        {"diagnostics": [["/p"]]},
    ],
)
def test_a_record_that_was_tampered_with_is_not_believed(change):
    record = json.loads(encode(whole()) or "")
    record.update(change)
    assert decode(json.dumps(record)) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", "[" * 100_000])
def test_what_is_no_record_is_not_believed(text):
    assert decode(text) is None


def test_the_names_of_these_tests_are_really_refused():
    assert refusal("../up")
    assert refusal("a/b")
