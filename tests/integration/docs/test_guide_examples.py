"""The programs of the guides run, and the pages show what is in them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from model_server import CallTool, Say
from openai_server import OpenAIServer

ROOT = Path(__file__).parents[3]
EXAMPLES, GUIDES = ROOT / "examples" / "guides", ROOT / "docs" / "guides"


def run(example: str, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, EXAMPLES / example, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_skill_in_python_counts_words_in_the_sandbox():
    script = {
        "skill_name": "word-count",
        "script_name": "count_words",
        "args": ["--text", "the sea, the sea"],
    }
    with OpenAIServer() as server:
        server.replies += [
            CallTool("load_skill", {"skill_id": "word-count"}),
            CallTool("script_run", script),
            CallTool("remember_count", {"words": 4}),
            Say("Four words."),
        ]
        said = run(
            "python_skill.py",
            "gpt-5-mini",
            "How long is it?",
            OPENAI_BASE_URL=f"{server.address}/v1",
            OPENAI_API_KEY="none",
        )
    assert said == "Four words.\n"
    last = json.dumps(server.requests[-1].body["messages"]).replace("\\", "")
    assert '"words": 4, "most": ["the", "sea"]' in last
    assert "1 counts are kept." in last


def test_the_guide_shows_the_skill_of_the_program():
    [shown] = re.findall(
        r"^```py\n(.*?)^```$", (GUIDES / "python-skills.md").read_text(), re.DOTALL | re.MULTILINE
    )
    assert shown in (EXAMPLES / "python_skill.py").read_text()


def test_spans_and_counters_are_printed_as_the_guide_shows():
    printed = run("telemetry.py").splitlines()
    [shown] = re.findall(
        r"telemetry\.py\n(.*?)^```$", (GUIDES / "telemetry.md").read_text(), re.DOTALL | re.MULTILINE
    )
    for line in shown.splitlines():
        assert line == "…" or line in printed
    assert printed[0].startswith("skill.load")
