"""Scores by shared words: of name, description and triggers, and of the instructions."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Set
from typing import NamedTuple

from skillkit.core.content import read_whole
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.header import split
from skillkit.core.models import SkillMetadata
from skillkit.matching.calibration import CALIBRATIONS, LEXICAL, Calibration, LexicalWeights
from skillkit.matching.description import Description, exclusions_of_body
from skillkit.matching.request import Request, shown
from skillkit.matching.sentences import Kind, Sentence, SentenceIndex
from skillkit.matching.terms import count_terms, terms
from skillkit.matching.usual import usual_terms
from skillkit.matching.word_index import WordIndex

LONGEST_BODY = 65_536
ENOUGH_TERMS = 150
"""Terms from which instructions can say what a skill is about."""
CANDIDATES = 200
"""Skills that are looked at closely, of those that share the most."""
CLOSEST = 50
"""Skills for which it is counted how much of the request they answer."""
SAMPLED = 8
"""Of so many scores one is looked at to know about where the last of the candidates is."""
ONE_MORE_WORD = 1.0
"""Weight of a word imagined unanswered, so that a request of one word is not answered by it alone."""
MOST_WORDS = 6
_NAME, _PHRASE = Kind.NAME, Kind.PHRASE
BodyReader = Callable[[SkillMetadata], str]


def read_body(skill: SkillMetadata) -> str:
    """The instructions as they are on disk: their words only, so the header is not judged again."""
    data, _ = read_whole(skill.skill_path)
    text = data[split(data).body_start :].decode("utf-8")
    return text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\n")


class _Answers:
    """Which of the best skills have each word of a request, kept for the reasons."""

    __slots__ = ("best", "in_bodies", "in_words", "request", "telling")

    def __init__(self, request: Request, best: frozenset[int]) -> None:
        self.request = request
        self.best = best
        self.in_words: dict[str, Set[int]] = {}
        self.in_bodies: dict[str, Set[int]] = {}
        self.telling: tuple[list[_Word], list[_Word]] | None = None
        """The words by how much they say, in descriptions and in instructions, once a reason was asked."""


class _Word(NamedTuple):
    """A word as a reason quotes it, and the skills among the best that have it."""

    shown: str
    keys: Set[int]


class LexicalScorer:
    """Two word indexes, of descriptions and of instructions, and what their authors quote and exclude."""

    def __init__(self, read_body: BodyReader | None = None, weights: LexicalWeights = LEXICAL) -> None:
        """`read_body` gives a skill's instructions; None leaves them out."""
        self.weights = weights
        self.signals: tuple[str, ...] = ("lexical", "body") if read_body else ("lexical",)
        self._read = read_body
        usual = usual_terms()
        self._words = WordIndex(weights.words, usual.descriptions)
        self._bodies = WordIndex(weights.body, usual.bodies)
        self._sentences = SentenceIndex()
        self._places = 0
        """One more than the highest number that a skill has had."""
        self._lacking: dict[int, float] = {}
        """How much of usual instructions a skill lacks, 0 to 1; only those that lack any."""
        self._unread: dict[int, SkillMetadata] = {}
        self._answers: _Answers | None = None
        self._sentence_weights: dict[Sentence, float] = {}
        """How much the terms of a sentence say together; what was computed since a skill came or went."""

    @property
    def calibration(self) -> Calibration:
        return CALIBRATIONS[self.signals]

    def add(self, key: int, skill: SkillMetadata) -> None:
        self._places = max(self._places, key + 1)
        description = Description.parse(skill.description)
        triggers = (*skill.triggers.keywords, *skill.triggers.verbs)
        name = terms(skill.name.replace("_", " "))
        purpose = terms(description.purpose)
        for trigger in triggers:
            purpose.extend(terms(trigger))
        length = self.weights.words.relative_length(len(purpose))
        counts = {term: count / length for term, count in Counter(purpose).items()}
        for term in name:
            counts[term] = counts.get(term, 0.0) + self.weights.name
        self._words.add(key, counts)
        if name:
            self._sentences.add(key, Kind.NAME, [tuple(dict.fromkeys(name))])
        self._sentences.add(key, Kind.PHRASE, _term_sets((*description.phrases, *triggers)))
        self._sentences.add(key, Kind.EXCLUSION, _term_sets(description.exclusions))
        self._answers = None
        self._sentence_weights.clear()
        if self._read:
            self._unread[key] = skill

    def remove(self, key: int) -> None:
        self._answers = None
        self._sentence_weights.clear()
        self._words.remove(key)
        self._sentences.remove(key)
        self._lacking.pop(key, None)
        if self._read and self._unread.pop(key, None) is None:
            self._bodies.remove(key)

    def only(self, key: int) -> "LexicalScorer":
        """A scorer of one of the skills, as number 0, by what was read of it."""
        self._read_new()
        alone = LexicalScorer(self._read, self.weights)
        alone._places = 1
        alone._words.take_from(self._words, key, 0)
        if self._read:
            alone._bodies.take_from(self._bodies, key, 0)
        alone._sentences.take_from(self._sentences, key, 0)
        if key in self._lacking:
            alone._lacking[0] = self._lacking[key]
        return alone

    def prepare(self) -> None:
        """Read the instructions that were added since, and put all words where requests look for them."""
        self._read_new()
        self._words.settle()
        self._bodies.settle()

    def scores(self, request: Request) -> dict[int, float]:
        """The skills that share most with the request; only the order of magnitude is fixed."""
        self._read_new()
        weighed = self._words.telling(request)
        in_bodies = self._bodies.telling(request) if self._read else []
        share = self.weights.body_share * self._bodies.scale(in_bodies)
        scale = self._words.scale(weighed)
        every = [0.0] * self._places
        self._words.add_scores(weighed, every, scale)
        few = self._places - every.count(0.0)
        common = self._words.having_common(weighed, CANDIDATES - few) if few < CANDIDATES else ()
        self._bodies.add_scores(in_bodies, every, share)
        total = _best(every, common)
        self._words.add_common(weighed, total, scale)
        self._bodies.add_common(in_bodies, total, share)
        self._judge(dict(weighed), total, scale)
        self._prefer_answered(request, weighed, total)
        return {key: value for key, value in total.items() if value > 0}

    def reasons(self, request: Request, key: int) -> tuple[str, ...]:
        in_words, in_bodies = self._answered_by(request, key)
        found = []
        for text, telling in (("shares the words", in_words), ("its instructions mention", in_bodies)):
            words = tuple(dict.fromkeys(telling))[:MOST_WORDS]
            if words:
                found.append(f"{text} {', '.join(words)}")
        return tuple(found)

    def _answered_by(self, request: Request, key: int) -> tuple[list[str], list[str]]:
        """The words of a request that a skill has, in its description and in its instructions; those first
        that say most."""
        words, bodies, known = self._words, self._bodies, self._answers
        if known is None or known.request is not request or key not in known.best:
            in_words = words.most_telling(words.shared(request, key), request)
            in_bodies = bodies.most_telling(bodies.shared(request, key), request)
            quoted = {term: shown(request.words[term]) for term in (*in_words, *in_bodies)}
            return [quoted[term] for term in in_words], [quoted[term] for term in in_bodies]
        if known.telling is None:
            quoted = {term: shown(word) for term, word in request.words.items()}
            by_words = words.most_telling(known.in_words, request)
            by_bodies = bodies.most_telling(known.in_bodies, request)
            known.telling = (
                [_Word(quoted[term], known.in_words[term]) for term in by_words],
                [_Word(quoted[term], known.in_bodies[term]) for term in by_bodies],
            )
        by_description, by_instructions = known.telling
        return (
            [quoted for quoted, keys in by_description if key in keys],
            [quoted for quoted, keys in by_instructions if key in keys],
        )

    def _judge(self, asked: dict[str, float], total: dict[int, float], scale: float) -> None:
        """Add what name, quoted phrases and exclusions say, and what usual instructions would."""
        settings = self.weights
        names: dict[int, float] = {}
        phrases: dict[int, float] = {}
        exclusions: dict[int, float] = {}
        weights, name_covered = self._sentence_weights, settings.name_covered
        for sentence, shared in self._sentences.shared(asked, total).items():
            kind, key = sentence.kind, sentence.key
            if sentence not in weights:
                weights[sentence] = sum(map(self._words.weight, sentence.terms))
            whole = weights[sentence]
            if kind is _NAME:  # an ordinary word is less than a name
                names[key] = name_covered * shared / (whole if whole > 1.0 else 1.0)
                continue
            best = phrases if kind is _PHRASE else exclusions
            value = shared * shared / whole  # what it shares, times how much of it is shared
            if key not in best or value > best[key]:
                best[key] = value
        for key in {**names, **phrases, **exclusions}:
            value = names.get(key, 0.0) + settings.phrase * scale * phrases.get(key, 0.0)
            total[key] += value - settings.excluded * scale * exclusions.get(key, 0.0)
        for key in total.keys() & self._lacking.keys():
            total[key] *= 1 + settings.body_expected * self._lacking[key]

    def _prefer_answered(
        self, request: Request, weighed: list[tuple[str, float]], total: dict[int, float]
    ) -> None:
        """Raise the skills that answer more of the request than half, and lower the others; only the best,
        since it moves none by more than a share of its score."""
        asked = ONE_MORE_WORD + sum(weight for _, weight in weighed)
        best = frozenset(sorted(total, key=total.__getitem__, reverse=True)[:CLOSEST])
        answers = _Answers(request, best)
        answered = dict.fromkeys(best, 0.0)
        for term, weight in weighed:
            answers.in_words[term] = in_words = self._words.having(term, best)
            answers.in_bodies[term] = in_bodies = self._bodies.having(term, best)
            for key in in_words | in_bodies:
                answered[key] += weight
        for key, total_weight in answered.items():
            total[key] *= 1 + self.weights.answered * (total_weight / asked - 0.5)
        self._answers = answers if len(weighed) == len(request.words) else None

    def _read_new(self) -> None:
        """Read the instructions that were added since; those that cannot be read count as empty."""
        while self._unread:
            key, skill = next(iter(self._unread.items()))
            self._add_body(key, self._text_of(skill))
            del self._unread[key]

    def _text_of(self, skill: SkillMetadata) -> str:
        assert self._read is not None
        try:
            return self._read(skill)[:LONGEST_BODY]
        except (SkillsUseError, OSError, UnicodeDecodeError):
            return ""

    def _add_body(self, key: int, text: str) -> None:
        counts = count_terms(text)
        whole = sum(counts.values())
        length = self.weights.body.relative_length(whole)
        self._bodies.add(key, counts, length)
        self._sentences.add(key, Kind.EXCLUSION, _term_sets(exclusions_of_body(text)))
        if whole < ENOUGH_TERMS:
            self._lacking[key] = 1 - whole / ENOUGH_TERMS


def _term_sets(texts: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    found = (tuple(dict.fromkeys(terms(text))) for text in texts)
    return tuple(each for each in found if each)


def _best(every: list[float], besides: Collection[int]) -> dict[int, float]:
    """The best CANDIDATES of the scores above 0 and of those `besides`, best first; of equals the earlier."""
    # Nearly always a little below the last of them, by a sample: so that few are sorted.
    sample = sorted(every[::SAMPLED], reverse=True)
    floor = sample[int(1.4 * CANDIDATES / SAMPLED)] if len(every) > 2 * CANDIDATES else 0.0
    near = [key for key, value in enumerate(every) if value >= floor] if floor else []
    if len(near) < CANDIDATES:
        near = [key for key, value in enumerate(every) if value or key in besides]
    near.sort(key=every.__getitem__, reverse=True)
    return {key: every[key] for key in near[:CANDIDATES]}
