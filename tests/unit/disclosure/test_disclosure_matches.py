"""A repeated request is matched once, and never against a library that is gone."""

from skillkit.disclosure import RememberingMatcher


class Library:
    """Answers with the number of the library, and can be changed while it is asked."""

    def __init__(self):
        self.version = 0
        self.asked = 0
        self.during = lambda: None

    def update(self, skills):
        self.version += 1

    def match(self, request, limit=None):
        self.asked += 1
        answer = [self.version]
        self.during()
        return answer

    def rank(self, request, limit=10):
        return self.match(request, limit)


def test_a_repeated_question_is_answered_from_memory():
    library = Library()
    matcher = RememberingMatcher(library)
    for _ in range(3):
        matcher.match("a", 3)
        matcher.rank("a", 3)
    assert (library.asked, matcher.hits, matcher.misses) == (2, 4, 2)


def test_a_changed_library_is_asked_again():
    library = Library()
    matcher = RememberingMatcher(library)
    assert matcher.match("a") == (0,)
    matcher.update([])
    assert matcher.match("a") == (1,)


def test_an_answer_that_was_overtaken_by_a_change_is_not_remembered():
    library = Library()
    matcher = RememberingMatcher(library)
    library.during = lambda: matcher.update([])
    assert matcher.match("a") == (0,)
    library.during = lambda: None
    assert matcher.match("a") == (1,)


async def test_a_provider_prepares_the_engine_that_has_something_to_prepare(write_skill, provide):
    write_skill("pdf")
    prepared = []

    class Slow(Library):
        def prepare(self):
            prepared.append(self.version)

    await provide(matcher=Slow()).aprepare()
    await provide(matcher=Library()).aprepare()
    assert prepared == [1]


def test_the_memory_is_bounded():
    library = Library()
    matcher = RememberingMatcher(library, size=2)
    for request in ("a", "b", "a", "c", "a", "b"):
        matcher.match(request)
    assert library.asked == 4
    matcher.match("long" * 10_000)
    matcher.match("long" * 10_000)
    assert library.asked == 6
