"""Sentences of document A, each as the short program that a sceptical reader would write and run at once."""

import json
import logging
from pathlib import Path

import pytest

from skillkit import SkillManager, SkillMetadata, SkillsUseError
from skillkit.disclosure import SkillContextProvider
from skillkit.matching import SkillMatcher


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "skills"


def write(root: Path, name: str, text: str) -> Path:
    """A SKILL.md that is as young as a file can be."""
    file = root / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def discovered(root: Path, **options) -> SkillManager:
    manager = SkillManager(project_skill_dir=root, anthropic_config_dir="", **options)
    manager.discover()
    return manager


GREETER = "---\nname: greeter\ndescription: Greets\n---\nHello $ARGUMENTS\n"


def test_the_second_invocation_is_a_hit(root: Path) -> None:
    write(root, "greeter", GREETER)
    manager = discovered(root)
    texts = [manager.invoke_skill("greeter", "Ann") for _ in range(3)]
    assert texts[0].endswith("Hello Ann\n")
    assert texts[0] is texts[1] is texts[2]
    stats = manager.get_cache_stats()
    assert (stats.size, stats.hits, stats.misses) == (1, 2, 1)


def test_more_than_eighty_percent_hits_with_a_few_common_arguments(root: Path) -> None:
    write(root, "greeter", GREETER)
    manager = discovered(root)
    for call in range(20):
        manager.invoke_skill("greeter", "Ann" if call % 2 else "Bob")
    assert manager.get_cache_stats().hit_rate == 0.9


def test_the_cache_holds_as_many_entries_as_asked_and_drops_the_one_used_longest_ago(root: Path) -> None:
    write(root, "greeter", GREETER)
    manager = discovered(root, max_cache_size=2)
    for name in ("Ann", "Bob", "Ann", "Eve", "Ann", "Bob"):
        manager.invoke_skill("greeter", name)
    stats = manager.get_cache_stats()
    assert (stats.size, stats.hits, stats.misses) == (2, 2, 4), "Bob made space for Eve, not Ann"


def test_a_file_changed_within_a_tick_is_a_miss(root: Path) -> None:
    file = write(root, "greeter", GREETER)
    manager = discovered(root)
    for word in ("Adieu", "Howdy", "Salve"):
        file.write_text(GREETER.replace("Hello", word))
        assert manager.invoke_skill("greeter", "Ann").endswith(f"{word} Ann\n")
        assert manager.invoke_skill("greeter", "Ann").endswith(f"{word} Ann\n")
    stats = manager.get_cache_stats()
    assert (stats.hits, stats.misses) == (3, 3)


def test_the_cache_is_cleared_for_one_skill_or_all(root: Path) -> None:
    write(root, "greeter", GREETER)
    write(root, "other", GREETER.replace("greeter", "other"))
    manager = discovered(root)
    for name in ("greeter", "other", "other"):
        manager.invoke_skill(name, "Ann")
    assert manager.clear_cache("greeter") == 1
    assert manager.clear_cache() == 1
    manager.invoke_skill("other", "Ann")
    assert manager.get_cache_stats().misses == 3


INVALID = {
    "invalid-yaml": "---\nname: invalid-yaml\ndescription: [unclosed\n---\nBody\n",
    "tab": "---\nname: tab\n\tdescription: d\n---\nBody\n",
    "no-header": "# Title\n\nBody\n",
    "unterminated": "---\nname: unterminated\ndescription: d\n\n# Title\n",
    "no-name": "---\ndescription: d\n---\nBody\n",
    "no-description": "---\nname: no-description\n---\nBody\n",
    "null-description": "---\nname: null-description\ndescription: null\n---\nBody\n",
}


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_skill_is_skipped_with_one_warning_and_raises_when_invoked(
    root: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    write(root, "greeter", GREETER)
    write(root, name, INVALID[name])
    manager = discovered(root)
    assert [skill.name for skill in manager.list_skills()] == ["greeter"]
    assert [skill.name for skill in manager.offered_skills()] == ["greeter"]
    assert name not in SkillContextProvider(manager).tier1_context()
    assert SkillMatcher(manager.list_skills()).match(f"/{name}") == []
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 1
    for call in (manager.invoke_skill, manager.load_skill, manager.get_skill):
        with pytest.raises(SkillsUseError, match=rf"skipped: .*{name}"):
            call(name)


@pytest.mark.parametrize("name", ["invalid-yaml", "no-header", "unterminated", "no-name"])
def test_who_asks_for_recovered_skills_gets_them_marked(root: Path, name: str) -> None:
    write(root, name, INVALID[name])
    manager = discovered(root, offer_recovered=True)
    assert [(skill.name, skill.recovered) for skill in manager.offered_skills()] == [(name, True)]
    assert "Body" in manager.invoke_skill(name) or "Title" in manager.invoke_skill(name)


def test_a_value_that_only_lacks_quotes_gets_them(root: Path) -> None:
    write(root, "pdf", "---\nname: pdf\ndescription: Use when: asked for PDFs\n---\nBody\n")
    [skill] = discovered(root).list_skills()
    assert (skill.description, skill.recovered) == ("Use when: asked for PDFs", False)


def test_info_shows_what_is_wrong_with_an_invalid_skill(tmp_path: Path, run_agent) -> None:
    write(tmp_path / ".agent" / "skills", "no-name", INVALID["no-name"])
    shown = run_agent("skill", "info", "no-name")
    assert shown.returncode == 0
    assert "is invalid" in shown.stderr
    assert "missing-name" in shown.stderr
    assert "no-name" not in run_agent("skill", "list").stdout.partition("Load failed")[0]


@pytest.mark.parametrize("null", ["null", "~", "Null", ""])
def test_null_means_not_given_for_every_field(root: Path, null: str) -> None:
    fields = "version license model triggers allowed-tools disable-model-invocation permissions requires"
    lines = "".join(f"{field}: {null}\n" for field in fields.split())
    write(root, "pdf", f"---\nname: pdf\ndescription: Reads PDFs\n{lines}---\nBody\n")
    write(root, "nested", f"---\nname: nested\ndescription: d\ntriggers: {{verbs: {null}}}\n---\nBody\n")
    manager = discovered(root)
    assert [skill.name for skill in manager.offered_skills()] == ["nested", "pdf"]
    skill = manager.get_skill("pdf")
    assert (skill.version, skill.license, skill.model, skill.allowed_tools) == (None, None, None, ())
    assert not skill.triggers
    assert not manager.get_skill("nested").triggers
    assert manager.diagnostics == ()


def test_a_word_in_quotes_is_text_also_when_it_is_null(root: Path) -> None:
    write(root, "pdf", "---\nname: pdf\ndescription: 'null'\n---\nBody\n")
    assert discovered(root).get_skill("pdf").description == "null"


@pytest.mark.parametrize("name", ["../x", "a/b", "..", "a\\b", "con", "a\u200bb", ""])
def test_metadata_refuses_the_names_that_the_loader_refuses(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="name"):
        SkillMetadata(name=name, description="d", skill_path=tmp_path)


def test_empty_arguments_leave_nothing_where_any_placeholder_was(root: Path) -> None:
    write(root, "s", "---\nname: s\ndescription: d\n---\n<$ARGUMENTS> <$ARGUMENTS[0]> <$ARGUMENTS[1]>\n")
    manager = discovered(root)
    assert manager.invoke_skill("s").endswith("<> <> <>\n")
    assert manager.invoke_skill("s", "a").endswith("<a> <a> <>\n")


SHELL = "awk '{print $1, $2}' costs $0.10: $ARGUMENTS\n"


def test_dollar_and_digit_stay_shell_text_unless_the_skill_declares_arguments(root: Path) -> None:
    write(root, "plain", f"---\nname: plain\ndescription: d\n---\n{SHELL}")
    write(root, "hint", f"---\nname: hint\ndescription: d\nargument-hint: '[a] [b]'\n---\n{SHELL}")
    write(root, "named", f"---\nname: named\ndescription: d\narguments: a b c\n---\n{SHELL}")
    write(root, "indexed", f"---\nname: indexed\ndescription: d\n---\n$ARGUMENTS[0] {SHELL}")
    manager = discovered(root)
    assert manager.invoke_skill("plain", "x y").endswith("awk '{print $1, $2}' costs $0.10: x y\n")
    for name in ("hint", "named", "indexed"):
        assert manager.invoke_skill(name, "x y z").endswith("awk '{print y, z}' costs x.10: x y z\n")


def manifest(plugin: Path, **fields: object) -> None:
    (plugin / ".claude-plugin").mkdir(parents=True, exist_ok=True)
    (plugin / ".claude-plugin" / "plugin.json").write_text(json.dumps(fields))


def of_plugin(plugin: Path) -> SkillManager:
    manager = SkillManager(project_skill_dir="", anthropic_config_dir="", plugin_dirs=[plugin])
    manager.discover()
    return manager


def test_an_invalid_plugin_manifest_is_refused_with_a_diagnostic(tmp_path: Path) -> None:
    plugin = tmp_path / "office"
    write(plugin / "skills", "greeter", GREETER)
    manifest(plugin, manifest_version="0.1", name="other", version="1.0.0")
    manager = of_plugin(plugin)
    assert manager.sources[0].plugin_manifest is None
    assert manager.sources[0].plugin_name == "office"
    assert [found.code for found in manager.diagnostics] == ["plugin-manifest"]
    assert "description" in manager.diagnostics[0].message


def test_an_empty_list_of_skills_in_a_plugin_manifest_means_none(tmp_path: Path) -> None:
    write(tmp_path / "office" / "skills", "greeter", GREETER)
    manifest(tmp_path / "office", name="office", skills=[])
    assert of_plugin(tmp_path / "office").list_skills() == []
    manifest(tmp_path / "office", name="office")
    assert [skill.name for skill in of_plugin(tmp_path / "office").list_skills()] == ["greeter"]


@pytest.mark.parametrize(
    "field",
    ["compatibility: ''", "license: ''", "allowed-tools: ''", "metadata: {v: 1.0}", "metadata: {v: true}"],
)
def test_strict_refuses_what_the_specification_does_not_take(root: Path, field: str) -> None:
    write(root, "pdf", f"---\nname: pdf\ndescription: Reads PDFs\n{field}\n---\nBody\n")
    assert discovered(root, strict=True).list_skills() == []
    assert [skill.name for skill in discovered(root).list_skills()] == ["pdf"]


def test_strict_takes_metadata_whose_numbers_are_texts(root: Path) -> None:
    write(root, "pdf", "---\nname: pdf\ndescription: Reads PDFs\nmetadata:\n  v: '1.0'\n---\nBody\n")
    assert discovered(root, strict=True).list_skills()


def test_an_object_of_a_skill_keeps_its_text_while_the_file_is_the_same(root: Path) -> None:
    file = write(root, "greeter", GREETER)
    skill = discovered(root).load_skill("greeter")
    assert skill.content is skill.content
    file.write_text(GREETER.replace("Hello", "Adieu"))
    assert skill.content == "Adieu $ARGUMENTS\n"
