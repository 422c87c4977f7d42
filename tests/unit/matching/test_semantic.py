"""Meaning beside words: any callable that embeds texts, and the model that the extra brings."""

import numpy as np
import pytest

from skillkit.core.exceptions import ConfigurationError, ContentLoadError
from skillkit.matching import MatchingSettings, SkillMatcher, semantic
from skillkit.matching.semantic import FEWEST_KEPT, MiniLM, default_embedder

QUIET = MatchingSettings()
TEXTS = ["Bake bread at home", "Compile CUDA kernels", "Plan a wedding"]
LONG = "Sharpen knives with a whetstone at twenty degrees. Strop the blade on leather. Oil the handle. " * 12


class Counting:
    """Lengths of texts as vectors, counting what it is asked for."""

    identity = "counting"

    def __init__(self):
        self.texts = []

    def __call__(self, texts):
        self.texts.extend(texts)
        return [[len(text), 1.0, 0.5] for text in texts]


def test_every_mode_says_what_its_scores_are_made_of(everyday):
    assert SkillMatcher(everyday, settings=QUIET).signals == ("lexical", "body")
    assert SkillMatcher(everyday, mode="hybrid", settings=QUIET).signals == ("lexical", "body", "semantic")
    assert SkillMatcher(everyday, mode="semantic", settings=QUIET).signals == ("semantic",)
    assert SkillMatcher(everyday, mode="keyword", settings=QUIET).signals == ("keyword",)


def test_near_meanings_are_near_and_a_batch_changes_nothing():
    model = default_embedder()
    vectors = semantic._normal(model([*TEXTS, "How do I make a loaf in my oven?", "x " * 300]))
    assert int((vectors[:3] @ vectors[3]).argmax()) == 0
    assert np.allclose(vectors[0], semantic._normal(model(TEXTS[:1]))[0], atol=1e-4)


def test_a_model_that_is_not_the_one_calibrated_is_refused(monkeypatch):
    monkeypatch.setattr(semantic, "MODEL_DIGEST", "0" * 64)
    with pytest.raises(ConfigurationError, match="Reinstall"):
        MiniLM()(["text"])


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ("make these photographs smaller before I upload them", "image"),
        ("charge my client for last month's work", "invoice-writer"),
    ],
)
def test_paraphrases_are_found_without_a_common_word(everyday, request_, expected):
    matcher = SkillMatcher(everyday, mode="semantic", settings=QUIET)
    assert matcher.rank(request_, 1)[0].skill.name == expected
    assert matcher.match("") == []
    assert SkillMatcher([], mode="semantic", settings=QUIET).match(request_) == []


def test_the_reason_tells_the_cosine(everyday):
    matcher = SkillMatcher(everyday, mode="semantic", settings=QUIET)
    first = matcher.rank("extract the text of a PDF file", limit=1)[0]
    assert first.reasons[0].startswith("its description means something close (cosine 0.")
    assert matcher.rank("completely unrelated penguins")[0].reasons == ()


def test_a_request_is_embedded_once_and_a_library_can_change(everyday):
    model = Counting()
    matcher = SkillMatcher(everyday[:2], mode="semantic", settings=QUIET, embedder=model)
    for _ in range(3):
        matcher.match("scan")
    assert len(model.texts) == 3
    matcher.remove(everyday[0])
    assert [match.skill for match in matcher.rank("scan")] == [everyday[1]]
    matcher.add(everyday[2])
    assert len(matcher.rank("scan")) == 2


@pytest.mark.parametrize("damage", [None, b"no array"])
def test_the_vectors_of_a_library_are_made_once(make_skill, tmp_path, damage):
    skills = [make_skill(f"skill-{number}") for number in range(FEWEST_KEPT)]
    settings = MatchingSettings(cache_dir=tmp_path / "cache")
    first = SkillMatcher(skills, mode="semantic", settings=settings, embedder=Counting()).rank("x y")
    (file,) = (tmp_path / "cache").iterdir()
    if damage:
        file.write_bytes(damage)
    model = Counting()
    again = SkillMatcher(skills, mode="semantic", settings=settings, embedder=model).rank("x y")
    assert len(model.texts) == (1 + FEWEST_KEPT if damage else 1)
    assert [(match.skill, round(match.score, 2)) for match in again] == [
        (match.skill, round(match.score, 2)) for match in first
    ]


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ("get the tables out of this scanned PDF form", "pdf-extractor"),
        ("cut this video clip and add subtitles to it", "movie-cutter"),
    ],
)
def test_skills_match_whether_or_not_they_have_instructions(everyday, request_, expected, mode):
    for read in (lambda skill: "", lambda skill: skill.description):
        matcher = SkillMatcher(everyday, mode=mode, settings=QUIET, body=read)
        assert [match.skill.name for match in matcher.match(request_)] == [expected]
        assert matcher.match("What is the capital of France?") == []


def test_instructions_decide_between_equal_descriptions(make_skill):
    one = make_skill("kitchen-one", "Kitchen chores", body=LONG)
    two = make_skill("kitchen-two", "Kitchen chores", body=LONG.replace("knives", "scissors"))
    ranked = SkillMatcher([one, two], settings=QUIET).rank("kitchen scissors")
    assert ranked[0].skill is two
    assert "its instructions mention scissors" in " ".join(ranked[0].reasons)


def test_instructions_that_cannot_be_read_count_as_none(everyday):
    def unreadable(skill):
        if skill.name == "image":
            raise OSError("gone")
        raise ContentLoadError("gone")

    matcher = SkillMatcher(everyday, settings=QUIET, body=unreadable)
    assert matcher.rank("compress and crop pictures for the web")[0].skill.name == "image"


async def test_threads_can_ask_while_the_library_changes(everyday):
    import asyncio

    matcher = SkillMatcher(everyday, settings=QUIET)

    def churn():
        for _ in range(10):
            matcher.remove(everyday[0])
            matcher.add(everyday[0])

    asked = [asyncio.to_thread(matcher.rank, "slow database queries") for _ in range(10)]
    answers = await asyncio.gather(asyncio.to_thread(churn), *asked)
    assert all(answer[0].skill.name == "sql-tuning" for answer in answers[1:])


def test_requests_are_answered_while_a_library_is_read(everyday):
    """Reading waits for a question that is asked and answered meanwhile: no lock is held."""
    answers = []

    def body(skill):
        if skill.name == "sql-tuning" and len(matcher.skills) == 5:
            answers.append(asked.result_of(lambda: matcher.rank("git history")))
        return ""

    asked = _Aside()
    matcher = SkillMatcher(everyday[:5], settings=QUIET, body=body)
    matcher.update(everyday)
    assert [match.skill.name for match in answers[0]] == ["git-history"]


class _Aside:
    def result_of(self, ask):
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as pool:
            return pool.submit(ask).result(timeout=30)
