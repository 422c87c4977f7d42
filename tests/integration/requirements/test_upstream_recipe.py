"""`dev.py upstream` on a small checkout: what it counts, and when it is content."""

from pathlib import Path

import pytest
from recipes import upstream

TESTS = "import skillkit\n\ndef test_one(): assert skillkit.SkillManager\n\ndef test_two(): assert False\n"


def test_each_test_is_counted_and_one_without_a_decision_fails_the_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_models.py").write_text(TESTS)
    monkeypatch.setattr(upstream, "AT_LEAST", 1)
    assert upstream.main([str(tmp_path)]) == 1
    shown = capsys.readouterr().out
    assert "1 of 2 passed" in shown
    assert "test_two: NOT IN docs/migration.md" in shown
    (tmp_path / "tests" / "test_models.py").write_text(TESTS.replace("two", "sync_then_async_raises_error"))
    assert upstream.main([str(tmp_path)]) == 0
    assert [path.name for path in (tmp_path / "tests").iterdir()] == ["test_models.py"]
