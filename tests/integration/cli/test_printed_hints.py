"""Every command that the program prints runs as printed, in the situation in which it was printed."""

import html
import os
import re
import sys
from pathlib import Path

import httpx
import pytest
from program import clean_environment
from skill_repositories import skill_text
from terminal import Terminal

from skillkit.inspector.app import create_app
from skillkit.inspector.library import Library
from skillkit.inspector.security import COOKIE
from skillkit.install.enabled import EnabledSkills

HINT = re.compile(r"(?:: |^ *)((?:agent|export) \S.*?)\s*$", re.MULTILINE)
ADD = "agent skill add ./more/given --trusted"
CLIENT = "mkdir -p home/.claude/skills && cp -r more/given home/.claude/skills/"
CALLER = (
    "mkdir -p home/.agent/skills/caller/scripts && cd home/.agent/skills/caller && touch scripts/call.py && "
    "printf -- '---\\nname: caller\\ndescription: Calls.\\n"
    "permissions: {secrets: {API_KEY: {hosts: [api.example.com]}}}\\n---\\n' >SKILL.md"
)
COMMANDS = [
    ("agent --check", 1),
    ("AGENT_SKILLS=helper agent --check", 1),
    ("AGENT_SKILLS=kalshi-markets agent --check", 1),
    ("agent skill list", 1),
    ("agent skill info helper", 1),
    ("agent skill info more/given", 1),
    ("agent skill match 'Use the given skill' --in more", 1),
    ("agent skill run hello-extended --help", 1),
    ("agent skill create mine", 1),
    ("agent skill add ./more/given --no-enable --trusted", 1),
    ("agent demo", 2),
    ("agent skill sync", 1),
    ("agent skill remove hello-extended", 1),
    (f"{ADD} && agent skill remove given --yes", 1),
    (f"{ADD} && echo >>more/given/SKILL.md && {ADD}", 1),
    (f"{ADD} && echo >>home/.agent/skills/given/SKILL.md && agent doctor", 1),
    (f"{ADD} && agent config approvals", 1),
    (f"{CLIENT} && agent skill adopt --no-enable", 1),
    ("agent secret list", 1),
    (f"{CALLER} && agent skill run caller call", 1),
    ("agent config init; agent config init", 1),
    ("mkdir -p home/.agent && echo x >home/.agent/settings.json && agent config show", 1),
]


class Agreeing(Terminal):
    """Says yes to every question, and has a secret for who asks for one."""

    agreed = 0

    def _more(self, deadline: float) -> bool:
        more = super()._more(deadline)
        if self.text.count("[y/N]") + self.text.count("API_KEY: ") > self.agreed:
            self.agreed += 1
            self.type("some-secret" if self.text.endswith("API_KEY: ") else "y")
        return more


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Two skills, one of which lies where conversations look for skills, and the program on PATH."""
    for place in ("skills/helper", "more/given"):
        (tmp_path / place).mkdir(parents=True)
        name = Path(place).name
        (tmp_path / place / "SKILL.md").write_text(skill_text(name, description=f"What {name} does."))
    clean = clean_environment(tmp_path / "home", TERM="xterm")
    return clean | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{clean['PATH']}"}


def shell(folder: Path, environment: dict[str, str], text: str) -> tuple[int, str]:
    run = Agreeing(cwd=folder, environment=environment, columns=40, shell=text)
    return run.end(), run.text


@pytest.mark.parametrize(("line", "count"), COMMANDS)
def test_hints_are_followed(tmp_path: Path, environment: dict[str, str], line: str, count: int) -> None:
    hints = HINT.findall(shell(tmp_path, environment, line)[1])
    assert len(hints) == count
    for hint in hints:
        code, shown = shell(tmp_path, environment, hint)
        assert code == 0, (hint, shown)


@pytest.mark.parametrize(
    "page", ["/", "/skills", "/request?q=What+does+helper+do+with+helper", "/skill/helper"]
)
async def test_hints_of_pages_are_followed(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", environment["HOME"])
    monkeypatch.delenv("AGENT_SKILLS", raising=False)
    library = Library(lambda: EnabledSkills(bundled=False), tmp_path / "home" / "journal.sqlite")
    transport = httpx.ASGITransport(create_app(library, 8123, "t0ken"))
    async with httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1:8123", cookies={COOKIE: "t0ken"}
    ) as browser:
        assert library.snapshot().checks.wait(60)
        shown = (await browser.get(page)).text
        [hint] = set(re.findall("not trusted</span>.*?<code>(agent [^<]*)</code>", shown))
        assert shell(tmp_path, environment, html.unescape(hint))[0] == 0
        library.look_again()
        assert library.snapshot().checks.wait(60)
        assert "not trusted</span>" not in (await browser.get(page)).text
