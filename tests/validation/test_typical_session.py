"""In a session as people have them, most invocations are answered from the cache."""

from skillkit import SkillManager


def test_more_than_eighty_percent_of_a_typical_session_are_hits(skills_dir, write_skill):
    for number in range(100):
        write_skill(f"skill-{number:03}", "Do $ARGUMENTS.\n")
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="")
    manager.discover()
    assert manager.get_cache_stats().size == 0

    # A tenth of the skills is used, each on one or two files, turn after turn.
    for turn in range(20):
        for number in range(10):
            argument = "report.pdf" if (turn + number) % 4 else "invoice.pdf"
            assert f"Do {argument}." in manager.invoke_skill(f"skill-{number:03}", argument)

    stats = manager.get_cache_stats()
    assert (stats.hits + stats.misses, stats.size) == (200, 20)
    assert stats.hit_rate > 0.8
