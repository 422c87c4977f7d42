"""Commands inside instructions: run in the sandbox once the tree is trusted, marked as not run before."""

from pathlib import Path

import pytest
from skill_repositories import skill_text

from skillkit.core.authority import Authority, DefaultAuthority, TrustEverySkill
from skillkit.core.grants import Grants
from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata
from skillkit.disclosure.activator import Activator
from skillkit.disclosure.session import Origin, SkillSession
from skillkit.install.capabilities import capabilities
from skillkit.install.fetch import manifest
from skillkit.install.tree import read_folder
from skillkit.scripts import ScriptTools

BODY = """Branch: !`cat data.txt`, KEY=!`stays text`

```!
echo one
echo two >&2
```

For $ARGUMENTS: !`echo $ARGUMENTS`, and !`exit 3`.

See @data.txt and @../secret.txt, not @user or @scope/package.
"""


def manager_of(folder: Path, authority: Authority) -> SkillManager:
    skill = folder / "skills" / "report"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(skill_text("report", BODY))
    (skill / "data.txt").write_text("main !`echo again`")
    (skill.parent / "secret.txt").write_text("SECRET")
    manager = SkillManager(project_skill_dir=folder / "skills", anthropic_config_dir="", authority=authority)
    manager.discover()
    return manager


def test_what_is_trusted_runs_once_in_the_sandbox_and_its_output_is_not_read_again(tmp_path: Path) -> None:
    manager = manager_of(tmp_path, TrustEverySkill())
    tools = ScriptTools(manager)
    ran: list[str] = []

    def run(skill: SkillMetadata, command: str) -> tuple[bool, str]:
        ran.append(command)
        return tools.run_command(skill, command)

    activator, session = Activator(manager, run_command=run), SkillSession()
    text = activator.deliver("report", "x; echo injected", session, Origin.LOADED).text
    assert "Branch: main !`echo again`, KEY=!`stays text`" in text
    assert "one\ntwo" in text
    assert "!`echo x; echo injected` (not run: arguments are part of the command)" in text
    assert "!`exit 3` (not run: it ended with exit code 3" in text
    assert "Content of data.txt:\nmain" in text
    assert "(../secret.txt was not read" in text
    assert "SECRET" not in text
    assert "echo x; echo injected" not in ran
    count = len(ran)
    assert activator.deliver("report", "", session, Origin.LOADED).text == text
    assert len(ran) == count


class Unapproved(TrustEverySkill):
    def grants(self, skill: SkillMetadata, digest: str, requester: object) -> Grants:
        return Grants(run=False, reason="the user has not approved it")


@pytest.mark.parametrize(
    ("authority", "reason"),
    [(DefaultAuthority(), "not trusted"), (Unapproved(), "the user has not approved it")],
)
def test_without_consent_the_text_stays_and_says_so(
    authority: Authority, reason: str, tmp_path: Path
) -> None:
    manager = manager_of(tmp_path, authority)
    activator = Activator(manager, run_command=ScriptTools(manager).run_command)
    text = activator.deliver("report", "", SkillSession(), Origin.LOADED).text
    assert "!`cat data.txt` (not run: " in text
    assert reason in text
    assert "main" not in text


def test_where_nothing_runs_commands_they_are_marked_and_rendering_leaves_them_alone(tmp_path: Path) -> None:
    manager = manager_of(tmp_path, TrustEverySkill())
    text = Activator(manager).deliver("report", "", SkillSession(), Origin.LOADED).text
    assert "!`cat data.txt` (not run: commands of instructions are not run here)" in text
    assert "!`cat data.txt`, KEY" in manager.invoke_skill("report")


def test_the_card_shows_commands_files_and_hooks(tmp_path: Path) -> None:
    hooks = "{PreToolUse: [{hooks: [{type: command, command: ./check.sh}]}]}"
    (tmp_path / "SKILL.md").write_text(skill_text("report", BODY, hooks=hooks))
    tree = read_folder(tmp_path)
    card = capabilities(tree, manifest(tree.skill_file, "report"))
    assert {"!`cat data.txt`", "!`echo one; echo two >&2`", "@data.txt", "hook: ./check.sh"} <= set(
        card.automatic
    )
