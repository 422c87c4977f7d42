"""Commands that are imported when they are asked for."""

import subprocess
import sys
from types import SimpleNamespace

import pytest
import typer

from skillkit.agent.cli.app import Commands, app
from skillkit.agent.cli.families import _plain
from skillkit.agent.cli.skill import SkillCommands
from skillkit.agent.cli.skill import app as skill_app


@pytest.mark.parametrize(("group", "of"), [(app, Commands), (skill_app, SkillCommands)])
def test_every_command_is_announced_by_its_family(group, of):
    announced = [name for names in of.families.values() for name in names]
    made = typer.main.get_group(group)
    made.get_command(None, "")  # for a name that there is not, all are imported
    assert sorted(made.commands) == sorted(announced)


def test_parameters_of_an_older_typer_stay_as_they_are():
    old = SimpleNamespace()
    assert _plain([old]) == [old]
    assert vars(old) == {}


def test_listing_skills_imports_nothing_that_it_does_not_need():
    program = (
        "import sys\nfrom skillkit.agent.cli.app import app\n"
        "app(['skill', 'list'], standalone_mode=False)\n"
        "needless = {'pydantic', 'skillkit.agent.cli.config', 'skillkit.agent.cli.skill.installing', "
        "'skillkit.disclosure.provider', 'skillkit.scripts.runner', 'skillkit.matching.matcher'}\n"
        "sys.exit(', '.join(needless & set(sys.modules)) or 0)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
