"""The skills that ship are found, are in order, ask for no more than they need, and stay cheap."""

import re
from pathlib import Path

import pytest

from skillkit import SkillManager
from skillkit.core.exceptions import SkillParsingError
from skillkit.core.models import Permissions, SourceType
from skillkit.core.parser import SkillParser

NAMES = ["hello-extended", "kalshi-markets", "skill-author"]
each = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module")
def manager() -> SkillManager:
    manager = SkillManager(project_skill_dir="", anthropic_config_dir="", bundled=True)
    manager.discover()
    return manager


def test_they_load_without_a_single_remark(manager):
    assert [skill.name for skill in manager.list_skills()] == NAMES
    assert manager.diagnostics == ()
    assert {skill.source for skill in manager.list_skills()} == {SourceType.BUNDLED}
    assert manager.offered_skills() == manager.list_skills()


@each
def test_they_say_who_wrote_them_and_which_version(manager, name):
    skill = manager.get_skill(name)
    assert (skill.version, skill.author, skill.license) == ("1.0.0", "The skillkit authors", "MIT")


def test_only_kalshi_markets_asks_for_anything(manager):
    asked = {skill.name: skill.permissions for skill in manager.list_skills() if skill.permissions}
    hosts = ("api.elections.kalshi.com", "$KALSHI_API_URL")
    assert asked == {"kalshi-markets": Permissions(env=("KALSHI_API_URL",), hosts=hosts)}


def test_only_hello_extended_brings_code_into_the_agents_process(manager):
    toolsets = {skill.name: skill.toolsets for skill in manager.list_skills() if skill.toolsets}
    assert toolsets == {"hello-extended": ("toolsets.hello:HelloExtended",)}


def test_skill_author_keeps_to_the_specification_to_the_letter(manager):
    skill = SkillParser(strict=True).parse_skill_file(manager.get_skill("skill-author").skill_path)
    assert skill.diagnostics == ()


@pytest.mark.parametrize("name", ["hello-extended", "kalshi-markets"])
def test_all_that_strictness_finds_in_the_others_is_skillkits_own_fields(manager, name):
    path = manager.get_skill(name).skill_path
    with pytest.raises(SkillParsingError, match="is not in the Agent Skills specification"):
        SkillParser(strict=True).parse_skill_file(path)
    pure = re.sub(
        r"^(version|author|triggers|toolsets|scripts_ignore|permissions):.*\n(?: .*\n)*",
        "",
        path.read_text(),
        flags=re.MULTILINE,
    )
    assert SkillParser(strict=True).parse(pure.encode(), path).diagnostics == ()


@each
def test_instructions_stay_well_below_a_thousand_tokens(manager, name):
    assert len(manager.load_skill(name).content) < 2_800
    assert len(manager.get_skill(name).description) <= 150


@each
def test_the_files_that_instructions_speak_of_exist(manager, name):
    skill = manager.load_skill(name)
    for path in re.findall(r"`((?:references|scripts|assets)/[\w./-]+)`", skill.content):
        assert (skill.base_directory / path).is_file(), path


def test_the_scripts_that_kalshi_markets_speaks_of_are_the_scripts_it_has(manager):
    skill = manager.load_skill("kalshi-markets")
    table = "\n".join(line for line in skill.content.splitlines() if line.startswith("|"))
    told = {command.split()[0] for command in re.findall(r"`([a-z][^`]*)`", table)}
    assert told == {path.stem for path in (skill.base_directory / "scripts").glob("*.py")}


def test_hello_extended_speaks_of_all_its_tools_and_its_script(manager):
    skill = manager.load_skill("hello-extended")
    toolset = (skill.base_directory / "toolsets" / "hello.py").read_text()
    tools = set(re.findall(r"^    (?:async )?def ([a-z]\w*)\(", toolset, re.MULTILINE))
    assert tools == {"greet_in_language", "greet_multiple", "list_languages"}
    told = {word.partition("(")[0] for word in re.findall(r"`([a-z_]+(?:\([^`]*\))?)`", skill.content)}
    assert tools | {"advanced_greeting", "script_help", "script_run"} <= told


def test_the_reference_of_skill_author_explains_every_field(manager):
    from skillkit.core.fields import FIELDS

    reference = (manager.get_skill("skill-author").base_dir / "references" / "format.md").read_text()
    assert [field for field in FIELDS if f"`{field}`" not in reference] == []


def test_no_folder_has_anything_that_should_not_ship(manager):
    for skill in manager.list_skills():
        files = [path for path in Path(skill.base_dir).rglob("*") if "__pycache__" not in path.parts]
        cases = Path(skill.base_dir) / "evals" / "evals.json"
        others = [path for path in files if path.is_file() and path.suffix not in (".md", ".py")]
        assert [path for path in others if path != cases] == []
        assert not [path for path in files if path.is_symlink() or path.name.startswith(".")]
