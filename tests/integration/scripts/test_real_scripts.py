"""The recipe that asks the scripts of real skills for their help."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


@pytest.mark.this_machine
def test_the_recipe_counts_what_scripts_print_and_what_their_texts_say(workshop, tmp_path):
    workshop.skill(
        parse_py="import argparse\nargparse.ArgumentParser().parse_args()\n",
        tell_py='"""Tells."""\nprint(open("nothing"))\n',
        module_py="X = 1\n",
    )
    command = [sys.executable, "-m", "recipes.real_scripts", workshop.folder, "--home", tmp_path]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "all: 3 files, 2 scripts, 1 of them speak of a help" in ran.stdout
    assert "scripts, after: printed 1 (50 %), text 1 (50 %), answered 100 %" in ran.stdout
    assert "given what was not granted: 0" in ran.stdout
