"""docs/library.md leaves nothing out that a program can use."""

import inspect
import re
from pathlib import Path

import skillkit
from skillkit import SkillManager, SkillsUseError

PAGE = (Path(__file__).parents[3] / "docs" / "library.md").read_text()
WORDS = set(re.findall(r"\w+", PAGE))
FOR_OTHER_LAYERS = {"shared_provider", "skills_dir"}


def test_every_method_and_attribute_of_the_manager_is_told_of():
    manager = SkillManager(project_skill_dir="", anthropic_config_dir="")
    public = {name for name in dir(manager) if not name.startswith("_")}
    assert public - WORDS - FOR_OTHER_LAYERS == set()


def test_every_argument_of_the_manager_is_told_of():
    arguments = set(inspect.signature(SkillManager).parameters)
    told = set(re.findall(r"`(\w+)`", PAGE.partition("| argument of `SkillManager` |")[2]))
    assert arguments - told == set()


def test_every_public_name_is_told_of():
    assert set(skillkit.__all__) - WORDS == {"FilePathResolver", "Skill", "__version__"}


def test_the_tree_of_errors_is_the_one_that_is_raised():
    [tree] = re.findall(r"```text\n(SkillsUseError.*?)```", PAGE, re.DOTALL)
    parents = ["SkillsUseError"]
    for line in tree.splitlines()[1:]:
        indent, name = re.match(r"([│├└─ ]+)(\w+)", line).groups()
        depth = len(indent) // 4
        kind = getattr(skillkit, name)
        expected = SkillsUseError if depth == 1 else getattr(skillkit, parents[depth - 1])
        assert kind.__bases__ == (expected,), name
        parents[depth:] = [name]
