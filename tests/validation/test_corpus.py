"""Real skills of many authors go through everything without a foreign exception or a disagreement."""

from pathlib import Path

import pytest
from recipes.corpus import inspect

pytestmark = pytest.mark.slow

CORPUS = Path(__file__).parents[3] / "shared" / "data" / "corpus"


@pytest.mark.slow
def test_public_skills_load_and_no_two_commands_disagree() -> None:
    if not CORPUS.is_dir():
        pytest.skip(f"the public skills are not beside the repository ({CORPUS})")
    report = inspect(CORPUS)
    # Slow files are for the recipe to count: a measured test run is slow by itself.
    assert not report.foreign + report.disagreements, "\n".join(report.lines())
    assert report.loaded >= 0.998 * report.files


def test_the_report_counts_what_is_refused_and_what_is_guessed(skills_dir: Path, write_skill) -> None:
    write_skill("good")
    write_skill("nothing", header="name: nothing")
    write_skill("guessed", header="name: guessed\ndescription: d\ntags: [a")
    write_skill("nested", into=skills_dir / "good" / "more")
    (skills_dir / "good" / "bad.bin").write_bytes(b"\xff\0")
    report = inspect(skills_dir)
    assert report.clean, "\n".join(report.lines())
    assert (report.files, report.loaded, report.recovered) == (4, 3, 1)
    assert report.refused == {"MissingRequiredFieldError": 1}
