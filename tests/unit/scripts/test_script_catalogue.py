"""Which scripts exist for a caller; listing them executes and imports nothing."""

import os
from pathlib import Path

import pytest

from skillkit import SkillMetadata
from skillkit.core.parser import SkillParser
from skillkit.scripts import find_script, find_scripts


@pytest.fixture
def skill(tmp_path):
    """Write files into `scripts/` and give the skill: `skill("a.py", ignore=("*_test.py",))`."""

    def make(*files, scripts=None, ignore=()):
        (tmp_path / "scripts").mkdir(exist_ok=True)
        (tmp_path / "SKILL.md").touch()
        for file in files:
            (tmp_path / "scripts" / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "scripts" / file).write_text("raise SystemExit('executed')")
        return SkillMetadata("demo", "d", tmp_path / "SKILL.md", scripts=scripts, scripts_ignore=ignore)

    return make


def names(skill):
    return [script.name for script in find_scripts(skill)]


def test_scripts_of_all_kinds_are_found_by_name(skill):
    found = skill("b.py", "a.sh", "c.js", "d.mjs", "e.ts", "f.rb", "g.pl", "notes.md", "data.json")
    assert names(found) == ["a", "b", "c", "d", "e", "f", "g"]


def test_python_wins_the_short_name(skill):
    found = skill("status.sh", "status.py", "status.js")
    assert names(found) == ["status", "status.js", "status.sh"]
    assert find_script(found, "status").file == "status.py"
    assert find_script(found, "STATUS.SH").file == "status.sh"
    assert find_script(found, " Status ").file == "status.py"


def test_the_exact_spelling_comes_before_any_other(skill):
    found = skill("Status.py", "status.py")
    assert find_script(found, "status").file == "status.py"
    assert find_script(found, "Status").file == "Status.py"
    assert find_script(found, "sTATUS").file in ("Status.py", "status.py")


def test_ignored_and_hidden_files_do_not_exist(skill):
    found = skill("a.py", "a_test.py", "_b.py", ".c.py", "d.bak", ignore=("*_test.py", "_*.py"))
    assert names(found) == ["a"]
    assert find_script(found, "a_test") is None
    assert find_script(found, "_b.py") is None


def test_a_manifest_that_names_its_scripts_hides_the_others(skill, caplog):
    found = skill("a.py", "b.py", "c.py", scripts=("a", "B.py", "scripts/c", "missing"))
    assert names(found) == ["a", "b", "c"]
    assert "names the script 'missing'" in caplog.text
    assert names(skill(scripts=())) == []


def test_links_folders_and_special_files_do_not_exist(skill, tmp_path):
    found = skill("a.py")
    outside = tmp_path / "outside.py"
    outside.write_text("")
    scripts = tmp_path / "scripts"
    (scripts / "link.py").symlink_to(outside)
    (scripts / "inner.py").symlink_to("a.py")
    (scripts / "folder.py").mkdir()
    os.mkfifo(scripts / "fifo.py")
    os.mkfifo(scripts / "fifo")
    (scripts / "fifo").chmod(0o755)
    assert names(found) == ["a"]
    assert find_script(found, "link") is None


def test_a_linked_scripts_folder_does_not_exist(skill, tmp_path):
    found = skill("a.py")
    (tmp_path / "scripts").rename(tmp_path / "elsewhere")
    (tmp_path / "scripts").symlink_to("elsewhere")
    assert names(found) == []


def test_a_skill_without_scripts_has_none(tmp_path):
    (tmp_path / "SKILL.md").touch()
    skill = SkillMetadata("demo", "d", tmp_path / "SKILL.md")
    assert find_scripts(skill) == ()
    (tmp_path / "SKILL.md").unlink()
    tmp_path.rmdir()
    assert find_scripts(skill) == ()


def test_a_file_without_suffix_needs_its_executable_bit_and_a_first_line(skill, tmp_path):
    found = skill()
    for name, text, mode in (("yes", "#!/bin/sh", 0o755), ("no", "#!/bin/sh", 0o644), ("data", "x", 0o755)):
        path = Path(tmp_path / "scripts" / name)
        path.write_text(text)
        path.chmod(mode)
    assert names(found) == ["yes"]


def test_scripts_in_folders_of_scripts_are_found(skill):
    found = skill(
        "status.py",
        "web/fetch.js",
        "web/status.py",
        "web/__init__.py",
        "web/deep/er/run.sh",
        "a/b/c/d/e/too_deep.py",
        "node_modules/x.js",
        "__pycache__/y.py",
        ".hidden/z.py",
        ignore=("web/deep/*",),
    )
    assert names(found) == ["fetch", "status", "status.py"]
    assert find_script(found, "status").relative_path == "scripts/status.py"
    assert find_script(found, "web/status").relative_path == "scripts/web/status.py"
    assert find_script(found, "scripts/web/fetch.js").name == "fetch"


def test_a_header_may_name_scripts_elsewhere_in_the_skill_and_nowhere_outside(skill, tmp_path, caplog):
    (tmp_path / "tools" / "bin").mkdir(parents=True)
    (tmp_path / "tools" / "convert.py").touch()
    (tmp_path / "tools" / "other.py").touch()
    (tmp_path / "tools" / "bin" / "go.sh").touch()
    (tmp_path / "main.py").touch()
    (tmp_path / "setup.py").touch()
    (tmp_path / "linked").symlink_to("tools")
    (tmp_path.parent / "outside.py").touch()
    outside = (
        "../outside.py",
        "scripts/setup.py",
        "linked/other.py",
        "/etc/profile.sh",
        "tools/../../outside.py",
    )
    found = skill("a.py", scripts=("a", "main.py", "./tools/convert.py", "tools/bin/go.sh", *outside))
    assert names(found) == ["a", "convert", "go", "main"]
    assert find_script(found, "convert").relative_path == "tools/convert.py"
    assert find_script(found, "main").relative_path == "main.py"
    assert find_script(found, "go").path == tmp_path / "tools" / "bin" / "go.sh"
    caplog.clear()
    find_scripts(found)
    assert caplog.text.count("not a plain file of the skill") == len(outside)


def test_a_script_is_safe_to_retry_only_where_the_header_says_so(tmp_path):
    (tmp_path / "scripts").mkdir()
    for name in ("read.py", "send.py", "pay.py"):
        (tmp_path / "scripts" / name).write_text("")
    entries = "scripts:\n  - {name: read, retry: safe}\n  - send.py\n  - {name: pay.py, retry: never}\n"
    (tmp_path / "SKILL.md").write_text(f"---\nname: a\ndescription: b\n{entries}---\n")
    metadata = SkillParser().parse_skill_file(tmp_path / "SKILL.md")
    assert metadata.scripts == ("read", "send.py", "pay.py")
    assert {script.name: script.retry_safe for script in find_scripts(metadata)} == {
        "read": True,
        "send": False,
        "pay": False,
    }
    (tmp_path / "SKILL.md").write_text(
        "---\nname: a\ndescription: b\nscripts: [{name: pay, retry: often}]\n---\n"
    )
    assert SkillParser().parse_skill_file(tmp_path / "SKILL.md").scripts is None
