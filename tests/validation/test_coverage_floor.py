"""The tests fail when they cover too little: not only said in pyproject.toml, but true."""

import runpy
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
DEV = runpy.run_path(str(ROOT / "dev.py"))
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["coverage"]


def test_what_has_to_pass_measures_all_of_the_sources() -> None:
    assert SETTINGS["report"]["fail_under"] >= 90
    assert SETTINGS["run"]["branch"] is True
    assert SETTINGS["run"]["source"] == ["skillkit"]
    assert DEV["FLOORS"] == {"*/skillkit/*": 90, "*/skillkit/disclosure/provider.py": 95}
    assert "skillkit" not in " ".join(SETTINGS["run"]["omit"]), "no part of the sources is left out"
    steps = (ROOT / ".ci" / "run").read_text().splitlines()
    assert steps.index("export SKILLKIT_COVERAGE=1") < steps.index("python3 dev.py test")
    assert steps.index("python3 dev.py test") < steps.index("python3 dev.py test rest")
    assert steps.index("python3 dev.py test rest") < steps.index("python3 dev.py coverage")


@pytest.fixture
def project() -> Iterator[Path]:
    """Not beneath pytest's own folder, which the settings leave out."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fast", "rest", "passes"),
    [(range(10), range(10, 20), True), (range(10), range(5, 15), False), (range(20), range(18), False)],
)
def test_below_the_floor_the_tests_fail(
    fast: range, rest: range, passes: bool, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands of dev.py and our settings, on a package of which two runs cover a part each."""
    shutil.copy(ROOT / "pyproject.toml", project)
    (project / "skillkit" / "disclosure").mkdir(parents=True)
    functions = "\n\n".join(f"def f{number}(x):\n    y = x + 1\n    return y\n" for number in range(20))
    (project / "skillkit" / "__init__.py").write_text(functions)
    provider = "" if len(fast) == 20 else "from skillkit.disclosure.provider import f0\n"
    (project / "skillkit" / "disclosure" / "provider.py").write_text("def f0(x):\n    return x + 1\n")
    (project / "tests").mkdir()
    environment = {
        **{name: value for name, value in clean_environment(project).items() if "COV" not in name},
        "PYTHONPATH": str(project),
    }
    for name, tested in (("fast", fast), ("rest", rest)):
        calls = "".join(f"    assert skillkit.f{number}(1) == 2\n" for number in tested)
        calls += "    assert f0(1) == 2\n" if provider else ""
        text = f"import skillkit\n{provider}\n\ndef test_it():\n{calls}"
        (project / "tests" / f"test_{name}.py").write_text(text)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *DEV["MEASURED"], f"tests/test_{name}.py"],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "1 passed" in done.stdout, done.stdout + done.stderr
        assert done.returncode == 0, "what is missing is counted when both have run"
    monkeypatch.setitem(DEV["coverage"].__globals__, "prepare", lambda extras: None)
    monkeypatch.setitem(DEV["coverage"].__globals__, "ROOT", project)
    monkeypatch.setitem(DEV["coverage"].__globals__, "BIN", Path(sys.executable).parent)
    monkeypatch.delenv("COVERAGE_FILE", raising=False)
    assert (DEV["coverage"]([]) == 0) is passes
