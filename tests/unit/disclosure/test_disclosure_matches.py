"""Another engine in place of the matcher."""


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
