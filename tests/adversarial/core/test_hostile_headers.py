"""One hostile header costs a diagnostic and bounded work; the other skills load."""

import contextlib
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import yaml

from skillkit import SkillManager
from skillkit.core import yaml_header
from skillkit.core.exceptions import SkillParsingError
from skillkit.core.header import MAX_HEADER_BYTES, load
from skillkit.core.parser import SkillParser
from skillkit.core.text import HIDDEN_OR_LAYOUT

START = "name: evil\ndescription: d\n"
MERGE_BOMB = (
    START
    + "a: &a {x: 1}\n"
    + "\n".join(
        f"{chr(98 + n)}: &{chr(98 + n)} {{<<: [{', '.join([f'*{chr(97 + n)}'] * 9)}]}}" for n in range(8)
    )
)
ALIAS_BOMB = (
    START
    + "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "\n".join(f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 9)}]" for n in range(8))
)

REFUSED = {
    "merge-key bomb": MERGE_BOMB,
    "alias bomb": ALIAS_BOMB,
    "20,000 brackets": START + "a: " + "[" * 20_000,
    "20,000 braces": START + "a: " + "{a: " * 15_000,
    "20,000 dashes": START + "a:\n  " + "- " * 20_000 + "x",
    "20,000 question marks": START + "a:\n  " + "? " * 20_000 + "x",
    "deep indentation": START + "a:\n" + "".join(f"{' ' * n}k{n}:\n" for n in range(1, 300)),
    "python tag": START + "a: !!python/object/apply:os.system [id]",
    "local tag": START + "a: !exec x",
    "binary tag": START + "a: !!binary aGk=",
    "set tag": START + "a: !!set {b}",
    "anchor alone": START + "a: &b c",
    "alias to nothing": START + "a: *b",
    "merge key": START + "<<: {permissions: {network: true}}",
    "directive": "%YAML 1.1\n--- # start\n" + START,
    "tag directive": "%TAG !e! tag:example.org,2000:\n--- # start\n" + START,
    "two documents": START + "...\nname: other\n",
    "two documents without an end": START + "--- # next\nname: other",
    "null byte": START + "a: b\0c",
    "bell": START + "a: \x07",
    "escape in a key": START + '? "a\\x00b"\n: [&x 1]',
    "sequence as key": START + "? [a]\n: b",
    "mapping as key": START + "? {a: b}\n: c",
}


def load_beside_a_good_one(skills_dir: Path, data: bytes) -> SkillManager:
    for name, content in (("evil", data), ("good", b"---\nname: good\ndescription: d\n---\nBody")):
        (skills_dir / name).mkdir()
        (skills_dir / name / "SKILL.md").write_bytes(content)
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="")
    manager.discover()
    assert manager.invoke_skill("good").endswith("Body")
    return manager


@pytest.mark.parametrize("header", REFUSED.values(), ids=REFUSED.keys())
def test_a_hostile_header_costs_a_diagnostic(skills_dir: Path, header: str) -> None:
    manager = load_beside_a_good_one(skills_dir, f"---\n{header}\n---\nBody".encode())
    assert [skill.name for skill in manager.list_skills()] == ["good"]
    [found] = manager.diagnostics
    assert found.path == skills_dir / "evil" / "SKILL.md"
    assert found.code in ("yaml", "header")


@pytest.mark.parametrize("loader", [yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)])
@pytest.mark.parametrize(
    "name",
    ["merge-key bomb", "alias bomb", "20,000 brackets", "deep indentation", "python tag", "local tag"],
)
def test_both_yaml_readers_refuse_before_anything_is_built(
    name: str, loader: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml_header, "_EventParser", loader)
    with pytest.raises(SkillParsingError):
        load(REFUSED[name])


def test_brackets_do_not_overflow_a_small_stack() -> None:
    """In a process of its own: a stack overflow would take this one with it."""
    program = """
import threading
from skillkit.core.exceptions import InvalidYAMLError
from skillkit.core.header import load

refused = []

def attack():
    for opening in ("[", "{a: ", "- ", "? "):
        try:
            load("a:\\n  " + opening * 20_000)
        except InvalidYAMLError:
            refused.append(opening)

threading.stack_size(128 * 1024)
thread = threading.Thread(target=attack)
thread.start()
thread.join()
print(len(refused))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, "4\n"), done.stderr


@pytest.mark.parametrize("line_break", ["\u2028", "\u2029", "\x85"])
def test_no_invisible_line_break_injects_a_key(skills_dir: Path, line_break: str) -> None:
    header = f"{START}license: MIT{line_break}permissions: {{network: true}}{line_break}toolsets: [a:B]"
    manager = load_beside_a_good_one(skills_dir, f"---\n{header}\n---\n".encode())
    for skill in manager.list_skills():
        assert not skill.permissions
        assert skill.toolsets == ()


@pytest.mark.parametrize("line_break", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_no_invisible_line_break_makes_a_fence(line_break: str) -> None:
    data = f"---\nname: a\ndescription: x{line_break}---{line_break}\nlicense: MIT\n---\n".encode()
    try:
        metadata = SkillParser(recover=True).parse(data, Path(__file__))
    except SkillParsingError:
        return
    assert metadata.license == "MIT"


LONG = {
    "newlines": b"---\n" + b"\n" * 16_384,
    "newlines and a fence": b"---\n" + b"\n" * 16_384 + b"---\n",
    "only newlines": b"\n" * 1_000_000,
    "blank lines before the fence": b"\n" * 5_000 + b"---\nname: evil\ndescription: d\n---\n",
    "spaces after the fence": b"---" + b" " * 60_000 + b"\nname: evil\n---\n",
    "fences that are none": b"---\n" + b"---x\n" * 12_000,
    "spaces in a value": b"---\nname: evil\ndescription: a: b" + b" " * 60_000 + b"c\n---\n",
    "spaces in a heading": b"# " + b"# " * 500_000 + b"x",
    "hashes in a heading": b"#" * 1_000_000,
    "header lines without end": b"---\n" + b"a: b\n" * 200_000,
    "one long line": b"---\nname: " + b"a" * 1_000_000,
    "quotes": b"---\nname: evil\ndescription: " + b"'" * 60_000 + b"\n---\n",
    "flow items": b"---\nname: evil\ndescription: d\na: [" + b"a, " * 20_000 + b"a]\n---\n",
    "parentheses": b"---\nname: evil\ndescription: d\nallowed-tools: " + b"(" * 60_000 + b"\n---\n",
    "many fields": b"---\n" + b"".join(b"k%d: v\n" % n for n in range(6_000)) + b"---\n",
    "one field many times": b"---\n" + b"name: evil\n" * 5_000 + b"---\n",
    "colons": b"---\nname: evil\ndescription: " + b": " * 30_000 + b"\n---\n",
    "long key": b"---\n" + b"k" * 60_000 + b": v\n---\n",
}


@pytest.mark.parametrize("data", LONG.values(), ids=LONG.keys())
def test_a_long_header_costs_little_and_harms_nobody(skills_dir: Path, data: bytes) -> None:
    done = threading.Event()

    def attack() -> None:
        load_beside_a_good_one(skills_dir, data)
        for parser in (SkillParser(recover=True), SkillParser(strict=True)):
            with contextlib.suppress(SkillParsingError):
                parser.parse(data, skills_dir / "evil" / "SKILL.md")
        done.set()

    thread = threading.Thread(target=attack, daemon=True)
    thread.start()
    assert done.wait(30), "still busy after half a minute with what should take milliseconds"


def test_a_header_beyond_the_limit_is_refused(skills_dir: Path) -> None:
    data = b"---\nname: evil\ndescription: d\n" + b"a: b\n" * (MAX_HEADER_BYTES // 5) + b"---\n"
    manager = load_beside_a_good_one(skills_dir, data)
    [found] = manager.diagnostics
    assert "64 KiB" in found.message


def test_a_header_just_within_the_limit_is_read(skills_dir: Path) -> None:
    start = b"name: evil\ndescription: d\nlicense: MIT\nnotes: "
    data = b"---\n" + start + b"x" * (MAX_HEADER_BYTES - len(start) - 1) + b"\n---\nBody"
    manager = load_beside_a_good_one(skills_dir, data)
    assert manager.get_skill("evil").license == "MIT"
    assert manager.invoke_skill("evil").endswith("\n\nBody")


@pytest.mark.parametrize(
    "escape", ["\\0", "\\x1b[2J", "\\u202e", "\\u2028", "\\U000e0041", "\\x7f", "\\e", "\\N", "\\L"]
)
def test_yaml_escapes_cannot_make_a_name_or_hide_in_a_description(skills_dir: Path, escape: str) -> None:
    header = f'name: "ev{escape}il"\ndescription: d'
    manager = load_beside_a_good_one(skills_dir, f"---\n{header}\n---\n".encode())
    [found] = manager.diagnostics
    assert found.code == "header"
    assert not HIDDEN_OR_LAYOUT.search(found.message)
    metadata = SkillParser().parse(
        f'---\nname: core\ndescription: "a{escape}b"\n---\n'.encode(), Path(__file__)
    )
    assert [found.code for found in metadata.diagnostics] == ["hidden-characters"]


def test_duplicate_keys_are_said_and_the_first_counts(skills_dir: Path) -> None:
    data = b"---\nname: evil\ndescription: d\nname: good2\ndescription: e\n---\n"
    manager = load_beside_a_good_one(skills_dir, data)
    assert manager.get_skill("evil").description == "d"
    assert [found.code for found in manager.diagnostics] == ["duplicate-field", "duplicate-field"]
    assert [found.line for found in manager.diagnostics] == [4, 5]
