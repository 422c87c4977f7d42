"""Every example in the documentation runs."""

import contextlib
import io
import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest
from model_server import CallTool, Say
from openai_server import OpenAIServer

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def examples(language: str) -> list[object]:
    pages = [
        (page, [code for kind, code in FENCE.findall(page.read_text()) if kind == language]) for page in PAGES
    ]
    return [pytest.param(page, codes, id=page.relative_to(ROOT).as_posix()) for page, codes in pages if codes]


@pytest.fixture(autouse=True)
def model(monkeypatch):
    """A model behind OpenAI's interface that reads one file of a skill before it answers."""
    with OpenAIServer() as server:
        path = {"skill_id": "csv-report", "path": "references/report.md"}
        server.replies += [CallTool("read_skill_resource", path), Say("Forty rows.")]
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.address}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield server


def test_the_loop_of_the_readme_gets_the_skill_that_matches(model, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    [loop] = [code for kind, code in FENCE.findall((ROOT / "README.md").read_text()) if kind == "python"]
    exec(compile(loop, "README.md", "exec"), {})
    first, second = (request.body["messages"] for request in model.requests)
    assert "- csv-report: Summarise CSV files" in first[0]["content"]
    assert '<skill_context id="csv-report">' in first[2]["content"]
    assert second[-1]["role"] == "tool"
    assert capsys.readouterr().out == "Forty rows.\n"


@pytest.mark.parametrize(("page", "codes"), examples("python"))
def test_the_python_examples_of_a_page_run_from_top_to_bottom(page, codes, tmp_path, monkeypatch):
    """In a folder of their own that looks like the project's, so that they may write."""
    for name in ("docs", "examples", "src"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "example"}
    for code in codes:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code, str(page), "exec"), names)


def test_the_quick_start_runs():
    script = ROOT / "examples" / "quick_start.py"
    answer = subprocess.run([sys.executable, script], capture_output=True, text=True, cwd=ROOT, check=False)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout


def words_of(section: str) -> dict[str, int]:
    """The number of words of each page of a section of the site."""
    navigation = (ROOT / "mkdocs.yml").read_text().partition(f"\n  - {section}:\n")[2]
    lines = itertools.takewhile(lambda line: line.startswith("      - "), navigation.splitlines())
    pages = [line.rpartition(" ")[2] for line in lines]
    return {page: len((ROOT / "docs" / page).read_text().split()) for page in pages}


def test_pages_with_a_task_are_short():
    sections = {name: words_of(name) for name in ("Start", "Guides", "Concepts")}
    assert all(len(pages) >= 5 for pages in sections.values())
    words = {page: count for pages in sections.values() for page, count in pages.items()}
    assert {page: count for page, count in words.items() if count > 1500} == {}
    assert sum(words.values()) <= 18_000
