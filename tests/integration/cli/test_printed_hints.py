"""Every command that the program prints runs as printed, in the situation in which it was printed."""

import os
import re
import sys
from pathlib import Path

import pytest
from program import clean_environment
from skill_repositories import skill_text
from terminal import Terminal

HINT = re.compile(r"(?:: |^ *)((?:agent|export) \S.*?)\s*$", re.MULTILINE)
ADD = "agent skill add ./more/given --trusted"
COMMANDS = [
    ("agent --check", 1),
    ("AGENT_SKILLS=helper agent --check", 1),
    ("AGENT_SKILLS=kalshi-markets agent --check", 1),
    ("agent skill list", 1),
    ("agent skill info helper", 1),
    ("agent skill info more/given", 1),
    ("agent skill match 'What does given do with given?' --in more", 1),
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
    ("agent config init; agent config init", 1),
    ("mkdir -p home/.agent && echo x >home/.agent/settings.json && agent config show", 1),
]


class Agreeing(Terminal):
    """Says yes to every question."""

    agreed = 0

    def _more(self, deadline: float) -> bool:
        more = super()._more(deadline)
        if self.text.count("[y/N]") > self.agreed:
            self.agreed += 1
            self.type("y")
        return more


@pytest.mark.parametrize(("line", "count"), COMMANDS)
def test_hints_are_followed(tmp_path: Path, line: str, count: int) -> None:
    for place in ("skills/helper", "more/given"):
        (tmp_path / place).mkdir(parents=True)
        name = Path(place).name
        (tmp_path / place / "SKILL.md").write_text(skill_text(name, description=f"What {name} does."))
    environment = clean_environment(tmp_path / "home", TERM="xterm")
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"

    def shell(text: str) -> tuple[int, str]:
        run = Agreeing(cwd=tmp_path, environment=environment, columns=40, shell=text)
        return run.end(), run.text

    hints = HINT.findall(shell(line)[1])
    assert len(hints) == count
    for hint in hints:
        code, shown = shell(hint)
        assert code == 0, (hint, shown)
