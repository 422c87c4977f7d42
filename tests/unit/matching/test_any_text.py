"""Matching never raises, whatever text a description, a body or a request is made of."""

import json
from pathlib import Path

import pytest
from benchmarks.matching import data
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skillkit.core.models import SkillMetadata, SourceType, Triggers
from skillkit.core.names import refusal
from skillkit.matching import MatchingSettings, SkillMatcher

REAL = data.folder(None)
PIECES = (
    *("'", '"', "’", "‘", "“", "”", "`", " ", "\n", ". ", "; ", "(", "-", "_", "/", "$", "#", "++", "\0"),
    *("showToast", "don't", "PDF's", "C#", "x2Y", "ʼn", "ﬁX", "İa", "漢字", "กข", "é", "\ud800", "😀"),
    *("use ", "not for ", "Do not use ", "For x, see y. ", "the ", "skill ", "pdf-extractor"),
)
TEXTS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=12).map("".join)
KEYWORDS = st.lists(TEXTS, max_size=3).map(tuple)


def skill(name: str, description: str, triggers: Triggers | None = None) -> SkillMetadata:
    path = Path("/s") / "x" / "SKILL.md"
    return SkillMetadata(name, description, path, source=SourceType.CUSTOM, triggers=triggers or Triggers())


@pytest.mark.parametrize("mode", ["keyword", "lexical", "hybrid"])
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    name=TEXTS.filter(bool),
    descriptions=st.lists(TEXTS, min_size=1, max_size=3),
    body=TEXTS,
    keywords=KEYWORDS,
    request_=TEXTS,
)
def test_no_text_raises(mode, name, descriptions, body, keywords, *, request_):
    usable = all(refusal(f"{name}{number}") is None for number in range(len(descriptions)))
    library = [
        skill(f"{name if usable else 'plain'}{number}", text, Triggers(keywords, keywords, ()))
        for number, text in enumerate(descriptions)
    ]
    matcher = SkillMatcher(
        library, mode=mode, body=lambda _: body, settings=MatchingSettings(), embedder=Alike()
    )
    for request in (request_, *descriptions, name):
        found = matcher.explain(request)
        assert all(0 <= match.score <= 1 for match in (*found.matches, *found.near))
        matcher.rank(request)
    for one in library:
        matcher.remove(one)
    assert matcher.match(request_) == []


class Alike:
    """Every text has the same vector."""

    identity = "alike"

    def __call__(self, texts):
        import numpy as np

        return np.full((len(texts), 4), 0.5, dtype=np.float32)


@pytest.mark.skipif(not REAL.is_dir(), reason="the real libraries are not beside the repository")
def test_no_real_description_raises():
    rows = [
        json.loads(line)
        for file in REAL.glob("*/skills.jsonl")
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    library = [skill(row["name"], row["description"]) for row in rows]
    matcher = SkillMatcher(library, mode="lexical", body=lambda _: "", settings=MatchingSettings())
    assert all(matcher.rank(row["description"][:200], 1) for row in rows[::5])
