"""Another engine in place of the matcher."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest


class Library:
    """An engine that finds nothing."""

    version = 0

    def update(self, skills):
        self.version += 1

    def match(self, request, limit=None):
        return []

    def rank(self, request, limit=10):
        return []


async def test_a_provider_prepares_the_engine_that_has_something_to_prepare(write_skill, provide):
    write_skill("pdf")
    prepared = []

    class Slow(Library):
        def prepare(self):
            prepared.append(self.version)

    await provide(matcher=Slow()).aprepare()
    await provide(matcher=Library()).aprepare()
    assert prepared == [1]


def test_an_engine_that_could_not_be_filled_is_filled_with_the_next_request(write_skill, provide):
    write_skill("pdf")

    class Failing(Library):
        def update(self, skills):
            super().update(skills)
            if self.version == 1:
                raise RuntimeError("no memory")

    provider = provide(matcher=Failing())
    with pytest.raises(RuntimeError, match="no memory"):
        provider.prepare()
    provider.prepare()


def test_requests_at_one_time_fill_the_engine_once(write_skill, provide):
    write_skill("pdf")
    engine, together = Library(), Barrier(4)
    provider = provide(matcher=engine)

    def prepare(_):
        together.wait()
        provider.prepare()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(prepare, range(4)))
    assert engine.version == 1
