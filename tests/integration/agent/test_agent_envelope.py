"""What `load_skill` gives goes to the model whole, and the skills are searched for once."""

import os
from pathlib import Path

import pytest
from openai_server import CallTool, OpenAIServer, Say

import skillkit

BUNDLED = Path(skillkit.__file__).parent / "bundled"


def test_the_model_reads_every_line_of_a_skill_that_it_loads(agent, online: OpenAIServer) -> None:
    online.replies = [CallTool("load_skill", {"skill_id": "kalshi-markets"}), Say("Loaded.")]
    assert agent("-p", "What will the future bring?").stdout == "Loaded.\n"
    first, second = online.requests
    body = (BUNDLED / "kalshi-markets" / "SKILL.md").read_text().split("---\n", 2)[2].strip()
    assert body not in first.system
    result = second.spoken[-1][1]
    assert body in result
    assert result.startswith('<skill_context id="kalshi-markets">\n<instructions>\n')
    assert result.endswith("</execution_directive>\n</skill_context>")


def test_a_request_searches_no_folder_again(
    agent, online: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[str] = []
    real = os.scandir

    def counted(path="."):
        if not isinstance(path, int):
            searched.append(os.fspath(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", counted)
    online.replies = [
        CallTool("load_skill", {"skill_id": "kalshi-markets"}),
        CallTool("load_skill", {"skill_id": "unknown"}),
        Say("Done."),
    ]
    agent("-p", "What will the future bring?")
    assert len(online.requests) == 3
    assert searched.count(str(BUNDLED)) == 1, "found once, for prompt, tools and look-ups alike"
