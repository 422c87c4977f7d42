"""The tests fail when they cover too little: not only said in pyproject.toml, but true."""

import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from program import clean_environment

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["coverage"]


def test_what_has_to_pass_measures_all_of_the_sources() -> None:
    assert SETTINGS["report"]["fail_under"] >= 90
    assert SETTINGS["run"]["branch"] is True
    assert SETTINGS["run"]["source"] == ["skillkit"]
    assert "skillkit" not in " ".join(SETTINGS["run"]["omit"]), "no part of the sources is left out"
    assert "python3 dev.py test\n" in (ROOT / ".ci" / "run").read_text()


@pytest.fixture
def project() -> Iterator[Path]:
    """Not beneath pytest's own folder, which the settings leave out."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.parametrize(("tested", "passes"), [(range(0, 20), True), (range(0, 10), False)])
def test_below_the_floor_the_tests_fail(tested: range, passes: bool, project: Path) -> None:
    """The command of `dev.py test` and our settings, on a package of which a part is tested."""
    shutil.copy(ROOT / "pyproject.toml", project)
    (project / "skillkit").mkdir()
    functions = [f"def f{number}(x):\n    y = x + 1\n    return y\n" for number in range(20)]
    (project / "skillkit" / "__init__.py").write_text("\n\n".join(functions))
    (project / "tests").mkdir()
    calls = "".join(f"    assert skillkit.f{number}(1) == 2\n" for number in tested)
    (project / "tests" / "test_it.py").write_text(f"import skillkit\n\n\ndef test_it():\n{calls}")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--cov", "--cov-report=term:skip-covered", "tests"],
        cwd=project,
        env={
            **{name: value for name, value in clean_environment(project).items() if "COV" not in name},
            "PYTHONPATH": str(project),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    assert (done.returncode == 0) is passes, done.stdout
    assert ("Required test coverage of 90.0% not reached" in done.stdout + done.stderr) is not passes
