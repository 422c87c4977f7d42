"""From bytes to metadata: what real files look like, what is forgiven, and what never is."""

import copy
import dataclasses
import logging
import pickle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillkit.core.exceptions import (
    InvalidFrontmatterError,
    InvalidYAMLError,
    MissingRequiredFieldError,
    SkillParsingError,
)
from skillkit.core.models import Permissions, Requirements, Severity, SkillMetadata, Triggers
from skillkit.core.parser import RULES, SkillParser

LENIENT = SkillParser(recover=True)
PLAIN = SkillParser()
STRICT = SkillParser(strict=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "pdf"
    folder.mkdir()
    (folder / "SKILL.md").touch()
    return folder / "SKILL.md"


def skill(header: str, body: str = "# PDF\n") -> bytes:
    return f"---\n{header}\n---\n{body}".encode()


def parsed(path: Path, data: bytes | str, parser: SkillParser = LENIENT) -> SkillMetadata:
    return parser.parse(data if isinstance(data, bytes) else skill(data), path)


def codes(metadata: SkillMetadata) -> list[str]:
    return [found.code for found in metadata.diagnostics]


MINIMAL = "name: pdf\ndescription: Reads PDF files."


def test_the_two_required_fields_are_enough(path: Path) -> None:
    for parser in (LENIENT, PLAIN, STRICT):
        metadata = parsed(path, MINIMAL, parser)
        assert (metadata.name, metadata.description) == ("pdf", "Reads PDF files.")
        assert metadata.diagnostics == ()
        assert not metadata.recovered
        assert metadata.skill_path == metadata.file_path == path
        assert metadata.base_dir == path.parent
        assert metadata.extra == metadata.metadata == {}
        assert not metadata.permissions
        assert not metadata.triggers


def test_every_field_of_the_contract_is_read(path: Path) -> None:
    metadata = parsed(
        path,
        MINIMAL
        + """
license: MIT
compatibility: Python 3.11
metadata: {team: docs}
allowed-tools: Read, Bash(git:*)
version: 1.20
author: Jane
repository: https://example.org/x
model: small
disable-model-invocation: true
user-invocable: no
argument-hint: "[file]"
triggers: {keywords: [pdf], verbs: [read], patterns: ['\\d+']}
toolsets: [tools.pdf:PdfTools]
scripts: [status, markets.py]
scripts_ignore: ["*_test.py"]
permissions: {env: [API_KEY, API_*], network: true, timeout: 2.5}
requires: {commands: [git, jq]}
min_agent_base_version: 0.1.0
max_agent_base_version: 9.0.0
tags: [a, b]""",
    )
    assert metadata.license == "MIT"
    assert metadata.compatibility == "Python 3.11"
    assert metadata.metadata == {"team": "docs"}
    assert metadata.allowed_tools == ("Read", "Bash(git:*)")
    assert metadata.version == "1.20"
    assert metadata.author == "Jane"
    assert metadata.repository == "https://example.org/x"
    assert metadata.model == "small"
    assert metadata.disable_model_invocation is True
    assert metadata.user_invocable is False
    assert metadata.argument_hint == "[file]"
    assert metadata.triggers == Triggers(("pdf",), ("read",), ("\\d+",))
    assert metadata.toolsets == ("tools.pdf:PdfTools",)
    assert metadata.scripts == ("status", "markets.py")
    assert metadata.scripts_ignore == ("*_test.py",)
    assert metadata.permissions == Permissions(("API_KEY", "API_*"), True, 2.5)
    assert metadata.required_commands == ("git", "jq")
    assert metadata.min_agent_base_version == "0.1.0"
    assert metadata.max_agent_base_version == "9.0.0"
    assert metadata.extra == {"tags": ["a", "b"]}
    assert codes(metadata) == ["unknown-field"]


@pytest.mark.parametrize(
    "spelling",
    [
        "Read Write Bash(git log:*)",
        "Read, Write,Bash(git log:*)",
        "[Read, Write, 'Bash(git log:*)']",
        "\n  - Read\n  - Write\n  - Bash(git log:*)",
    ],
)
def test_allowed_tools_has_three_spellings(path: Path, spelling: str) -> None:
    metadata = parsed(path, f"{MINIMAL}\nallowed-tools: {spelling}")
    assert metadata.allowed_tools == ("Read", "Write", "Bash(git log:*)")


@pytest.mark.parametrize(
    ("header", "version", "author"),
    [
        ("metadata: {version: 2.10, author: Ann}", "2.10", "Ann"),
        ("version: 1\nmetadata:\n  version: 2\n  author: Ann", "1", "Ann"),
        ("version:\nmetadata: {version: '3'}", "3", None),
        ("metadata: {version: [1]}", None, None),
        ("version: 1.0\nauthor: 7", "1.0", "7"),
    ],
)
def test_numbers_are_texts_and_metadata_fills_gaps(
    path: Path, header: str, version: str | None, author: str | None
) -> None:
    metadata = parsed(path, f"{MINIMAL}\n{header}")
    assert (metadata.version, metadata.author) == (version, author)


@pytest.mark.parametrize(
    ("header", "triggers"),
    [
        ("triggers: [pdf, forms]", Triggers(keywords=("pdf", "forms"))),
        ("triggers: pdf", Triggers(keywords=("pdf",))),
        ("triggers:\n  keywords: [a]\n  verbs: b", Triggers(keywords=("a",), verbs=("b",))),
        ("triggers: []", Triggers()),
        ("triggers: ['', ' ', pdf]", Triggers(keywords=("pdf",))),
        ("triggers: {keywords: [''], verbs: [read]}", Triggers(verbs=("read",))),
        ("triggers: [2026]", Triggers(keywords=("2026",))),
    ],
)
def test_triggers_are_a_list_or_a_mapping(path: Path, header: str, triggers: Triggers) -> None:
    assert parsed(path, f"{MINIMAL}\n{header}").triggers == triggers


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("[file]", "[file]"),
        ("[a, b]", "[a, b]"),
        ("<issue> [--draft]", "<issue> [--draft]"),
        ("'[x] [y]'", "[x] [y]"),
        ("{a: b}", None),
    ],
)
def test_a_hint_is_text_also_when_yaml_takes_it_for_a_list(path: Path, value: str, hint: str | None) -> None:
    metadata = parsed(path, f"{MINIMAL}\nargument-hint: {value}")
    assert metadata.argument_hint == hint
    assert not metadata.recovered


# How real files look: what loads, what is said, and what the specification says to the same file.

SHAPES = {
    "unknown field": (skill(MINIMAL + "\ntags: [a]"), "unknown-field"),
    "an extension of ours": (skill(MINIMAL + "\nversion: '1'"), "extension-field"),
    "another folder": (skill("name: pdf-tools\ndescription: d"), "name-folder"),
    "capitals": (skill("name: PDF\ndescription: d"), "name-format"),
    "underscores": (skill("name: pd_f\ndescription: d"), "name-format"),
    "spaces": (skill("name: PDF Tools\ndescription: d"), "name-format"),
    "a colon": (skill("name: 'team:pdf'\ndescription: d"), "name-format"),
    "another script": (skill("name: 文書\ndescription: d"), "name-format"),
    "65 characters": (skill(f"name: {'a' * 65}\ndescription: d"), "name-format"),
    "byte order mark": (b"\xef\xbb\xbf" + skill(MINIMAL), "byte-order-mark"),
    "blank lines first": (b"\n\n" + skill(MINIMAL), "blank-lines-first"),
    "an indented fence": (b"  " + skill(MINIMAL), "blank-lines-first"),
    "1025 characters": (skill(f"name: pdf\ndescription: {'x' * 1025}"), "description-length"),
    "501 characters": (skill(f"{MINIMAL}\ncompatibility: {'x' * 501}"), "compatibility-length"),
    "wrong type": (skill(MINIMAL + "\nlicense: [MIT]"), "wrong-type"),
    "twice": (skill(MINIMAL + "\nlicense: A\nlicense: B"), "duplicate-field"),
    "misspelled": (skill(MINIMAL + "\nallowedTools: Read"), "misspelled-field"),
    "invisible": (skill("name: pdf\ndescription: a\u200bb"), "hidden-characters"),
    "escaped control": (skill('name: pdf\ndescription: "a\\x1b[31mb"'), "hidden-characters"),
    "hidden in a list": (skill(MINIMAL + '\ntags: [{a: "\\u202e"}]'), "hidden-characters"),
    "very many fields": (skill(MINIMAL + "".join(f"\nk{n}: v" for n in range(500))), "more"),
    "hidden in a licence": (skill(MINIMAL + '\nlicense: "MIT\\0"'), "hidden-characters"),
}


@pytest.mark.parametrize(("data", "code"), SHAPES.values(), ids=SHAPES.keys())
def test_lenient_loads_with_a_diagnostic_what_strict_refuses(path: Path, data: bytes, code: str) -> None:
    if code != "extension-field":
        for parser in (LENIENT, PLAIN):
            metadata = parser.parse(data, path)
            assert code in codes(metadata)
            assert not metadata.recovered
    with pytest.raises(SkillParsingError) as caught:
        STRICT.parse(data, path)
    found = [diagnostic for diagnostic in caught.value.diagnostics if diagnostic.code == code]
    assert found
    assert all(diagnostic.severity is Severity.ERROR for diagnostic in found)


BROKEN = {
    "open list": (skill(MINIMAL + "\ntags: [a, b\nlicense: MIT"), "broken-field", "Reads PDF files."),
    "open quote": (skill("license: 'open\n" + MINIMAL), "broken-field", "Reads PDF files."),
    "open description": (
        skill('name: pdf\ndescription: "Reads PDF files.\nlicense: MIT'),
        "broken-field",
        "Reads PDF files.",
    ),
    "quote in quotes": (
        skill("name: pdf\ndescription: 'It's for PDF files.\nlicense: MIT"),
        "broken-field",
        "It's for PDF files.",
    ),
    "tab": (skill(MINIMAL + "\nmetadata:\n\ta: b"), "broken-field", "Reads PDF files."),
    "tab before a field": (skill("name: pdf\n\tdescription: Reads.\nlicense: MIT"), "broken-field", "Reads."),
    "tab before the first": (
        skill("\tname: pdf\ndescription: Reads.\nlicense: MIT"),
        "broken-field",
        "Reads.",
    ),
    "tab before all": (skill("\tname: pdf\n\tdescription: Reads.\n\tlicense: MIT"), "broken-field", "Reads."),
    "tab before the last": (
        skill("name: pdf\ndescription: 'Reads.'\n\tlicense: MIT"),
        "broken-field",
        "Reads.",
    ),
    "blank before a field": (
        skill("name: pdf\n description: Reads.\nlicense: MIT"),
        "broken-field",
        "Reads.",
    ),
    "blank before the first": (
        skill(" name: pdf\ndescription: Reads.\nlicense: MIT"),
        "broken-field",
        "Reads.",
    ),
    "tabs in a block": (
        skill("name: pdf\ndescription: >-\n\tReads.\nlicense: MIT"),
        "broken-field",
        "Reads.",
    ),
    "no blank after a colon": (skill("name:pdf\ndescription:Reads.\nlicense: MIT"), "broken-field", "Reads."),
    "wide colon": (skill("name: pdf\ndescription\uff1aReads.\nlicense: MIT"), "broken-field", "Reads."),
    "text behind a mark": (skill("name: pdf\ndescription: | Reads.\nlicense: MIT"), "broken-field", "Reads."),
    "text that opens a list": (
        skill("name: pdf\ndescription: [Reads.\nlicense: MIT"),
        "broken-field",
        "Reads.",
    ),
    "line of no field": (
        skill("Hello\nname: pdf\ndescription: Reads.\nlicense: MIT"),
        "broken-field",
        "Reads.",
    ),
    "unterminated, tab": (b"---\nname: pdf\n\tdescription: d\n\n# T\n", "broken-field", "d"),
    "unterminated": (b"---\nname: pdf\ndescription: d\n\n# Title\n", "unterminated-header", "d"),
    "unterminated, unquoted": (b"---\nname: pdf\ndescription: a: b\n\n# T\n", "unterminated-header", "a: b"),
    "unterminated, no description": (b"---\nname: pdf\n\n# Title #\n", "unterminated-header", "Title"),
    "no header": (b"Intro\n\n## Read PDFs ##\n", "no-header", "Read PDFs"),
    "no header, no heading": (b"\n  Just a line\nand another\n", "no-header", "Just a line"),
}


@pytest.mark.parametrize(("data", "code", "description"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_header_is_recovered_only_when_asked(
    path: Path, data: bytes, code: str, description: str
) -> None:
    metadata = LENIENT.parse(data, path)
    assert metadata.recovered, "a guess is not offered"
    check_mended(metadata, data, path, code, description)


@pytest.mark.parametrize("kind", [kind for kind, (data, *_) in BROKEN.items() if b"\nlicense: MIT" in data])
def test_a_broken_field_costs_no_other(path: Path, kind: str) -> None:
    metadata = LENIENT.parse(BROKEN[kind][0], path)
    assert metadata.license == "MIT"
    assert {found.code for found in metadata.diagnostics} <= {"broken-field"}


def test_a_misplaced_field_that_denies_still_denies(path: Path) -> None:
    metadata = parsed(path, "name: pdf\n\tdisable-model-invocation: true\n" + MINIMAL.partition("\n")[2])
    assert metadata.disable_model_invocation
    metadata = parsed(path, MINIMAL + "\nlicense: MIT\n\tuser-invocable: [no")
    assert not metadata.user_invocable
    assert metadata.license == "MIT"


def test_what_is_indented_below_a_field_stays_its_value(path: Path) -> None:
    metadata = parsed(path, MINIMAL + "\nmetadata:\n\tauthor: me\n\tlicense: MIT")
    assert metadata.metadata == {"author": "me", "license": "MIT"}
    assert metadata.license is None


MENDED = {
    "unquoted colon": (
        skill("name: pdf\ndescription: Use when: always"),
        "unquoted-value",
        "Use when: always",
    ),
    "unquoted at sign": (skill("name: pdf\ndescription: '@x'\nmodel: @y"), "unquoted-value", "@x"),
    "two hints": (skill(MINIMAL + "\nargument-hint: [a] [b]"), "unquoted-value", "Reads PDF files."),
    "no name": (skill("description: d"), "missing-name", "d"),
    "empty name": (skill("name: ''\ndescription: d"), "missing-name", "d"),
    "name that is a list": (skill("name: [x]\ndescription: d"), "missing-name", "d"),
}


@pytest.mark.parametrize(("data", "code", "description"), MENDED.values(), ids=MENDED.keys())
def test_a_header_is_mended_beyond_doubt_only_when_asked(
    path: Path, data: bytes, code: str, description: str
) -> None:
    metadata = LENIENT.parse(data, path)
    assert not metadata.recovered
    check_mended(metadata, data, path, code, description)


def check_mended(metadata: SkillMetadata, data: bytes, path: Path, code: str, description: str) -> None:
    assert code in codes(metadata)
    assert (metadata.name, metadata.description) == ("pdf", description)
    for parser in (PLAIN, STRICT):
        with pytest.raises(SkillParsingError):
            parser.parse(data, path)


@pytest.mark.parametrize(
    "grants",
    [
        "permissions: {network: true, env: [SECRET]}",
        "allowed-tools: Bash",
        "toolsets: [a:B]",
        "permissions: {timeout: 900}",
    ],
)
@pytest.mark.parametrize("kind", ["unquoted", "unterminated"])
def test_recovery_never_gains_a_permission(path: Path, grants: str, kind: str) -> None:
    if kind == "unquoted":
        data = skill(f"name: pdf\ndescription: a: b\n{grants}")
    else:
        data = f"---\nname: pdf\ndescription: d\n{grants}\n\n# Title\n".encode()
    metadata = LENIENT.parse(data, path)
    assert metadata.recovered == (kind == "unterminated")
    assert not metadata.permissions
    assert metadata.allowed_tools == metadata.toolsets == ()
    assert "grant-dropped" in codes(metadata)


@pytest.mark.parametrize(
    ("field", "attribute", "value"),
    [
        ("permissions: {network: perhaps, env: [A]}", "permissions", Permissions()),
        ("permissions: {env: ['A B']}", "permissions", Permissions()),
        ("permissions: {timeout: -1}", "permissions", Permissions()),
        ("permissions: {timeout: .inf}", "permissions", Permissions()),
        ("permissions: {timeout: nan}", "permissions", Permissions()),
        ("permissions: {timeout: [1]}", "permissions", Permissions()),
        ("permissions: all", "permissions", Permissions()),
        ("disable-model-invocation: maybe", "disable_model_invocation", True),
        ("user-invocable: [x]", "user_invocable", False),
        ("toolsets: {a: b}", "toolsets", ()),
        ("allowed-tools: {a: b}", "allowed_tools", ()),
        ("requires: git", "required_commands", ()),
        ("requires: {bins: {a: b}}", "required_commands", ()),
        ("requires: {commands: {a: b}}", "required_commands", ()),
        ("min_agent_base_version: newest", "min_agent_base_version", None),
        ("triggers: {keywords: {a: b}}", "triggers", Triggers()),
        ("triggers: [[a]]", "triggers", Triggers()),
        ("metadata: text", "metadata", {}),
        ("version: [1]", "version", None),
    ],
)
def test_a_field_that_cannot_be_read_is_absent_and_denied(
    path: Path, field: str, attribute: str, value: object
) -> None:
    metadata = parsed(path, f"{MINIMAL}\n{field}")
    assert getattr(metadata, attribute) == value
    [found] = metadata.diagnostics
    assert (found.code, found.line) == ("wrong-type", 4)
    assert f"'{field.partition(':')[0]}" in found.message, "the message names the field"


@pytest.mark.parametrize(
    "repeated",
    [
        "permissions: rubbish\npermissions: {network: true}",
        "permissions: {network: false}\npermissions: {network: true}",
        "permissions: {network: false, network: true}",
        "permissions:\n  network: false\n  network: true",
        "permissions:\n  env: []\n  network: false\n  network: true",
    ],
)
def test_no_later_line_widens_a_permission(path: Path, repeated: str) -> None:
    metadata = parsed(path, f"{MINIMAL}\n{repeated}")
    assert not metadata.permissions
    assert "duplicate-field" in codes(metadata)


def test_a_broken_field_that_denies_still_denies(path: Path) -> None:
    metadata = parsed(path, MINIMAL + "\ndisable-model-invocation: [true\npermissions: {network: true")
    assert metadata.disable_model_invocation
    assert not metadata.permissions


@pytest.mark.parametrize(
    ("name", "mended"), [("a/b", "a-b"), ("zoom/video-sdk/web", "zoom-video-sdk-web"), ("o/s@art", "o-s@art")]
)
def test_a_slash_in_a_name_is_mended_visibly(path: Path, name: str, mended: str) -> None:
    metadata = parsed(path, f"name: {name}\ndescription: d")
    assert metadata.name == mended
    assert not metadata.recovered
    assert "name-separator" in codes(metadata)
    with pytest.raises(InvalidFrontmatterError, match="separator"):
        parsed(path, f"name: {name}\ndescription: d", PLAIN)


@pytest.mark.parametrize(
    ("header", "message", "field"),
    [
        ("name: pdf", "'description' is missing", "description"),
        ("license: MIT", "'name' is missing, and so is 'description'", "name"),
        ("name: pdf\ndescription: '  '", "'description' cannot be empty", "description"),
        ("name: pdf\ndescription: [a]", "'description' cannot be empty and must be text", "description"),
        ("", "'name' is missing", "name"),
    ],
)
def test_required_fields_are_required(path: Path, header: str, message: str, field: str) -> None:
    for parser in (LENIENT, PLAIN, STRICT):
        with pytest.raises(MissingRequiredFieldError) as caught:
            parsed(path, header, parser)
        assert message in str(caught.value)
        assert str(path) in str(caught.value)
        assert caught.value.field_name == field
        assert caught.value.diagnostics[-1].code == "missing-field"


@pytest.mark.parametrize(
    "name",
    [
        "../../../etc/passwd",
        "/absolute/path",
        "a/../b",
        "a//b",
        "a\\b",
        "..",
        ".",
        ".hidden",
        "~",
        "~root",
        "__pycache__",
        "a..b",
        '"a\\0b"',
        '"a\\nb"',
        "a\u200bb",
        "a\u202eb",
        "\U000e0041a",
        "ㅤ",
        "a" * 201,
    ],
)
def test_a_name_that_cannot_be_addressed_safely_is_refused(path: Path, name: str) -> None:
    for parser in (LENIENT, STRICT):
        with pytest.raises(InvalidFrontmatterError, match="Skill name"):
            parsed(path, f"name: {name}\ndescription: d", parser)


@pytest.mark.parametrize("name", ["-a", "a-", "a--b", "A", "a_b", "a b", "é", "a" * 65])
def test_a_name_that_is_merely_odd_loads_and_is_not_strict(path: Path, name: str) -> None:
    metadata = parsed(path, f"name: '{name}'\ndescription: d")
    assert metadata.name == name
    assert "name-format" in codes(metadata)
    with pytest.raises(InvalidFrontmatterError):
        parsed(path, f"name: '{name}'\ndescription: d", STRICT)


def test_a_folder_that_differs_only_in_spelling_is_no_deviation_unless_strict(tmp_path: Path) -> None:
    folder = tmp_path / "Pdf_Tools"
    folder.mkdir()
    data = skill("name: pdf-tools\ndescription: d")
    (folder / "SKILL.md").touch()
    assert codes(LENIENT.parse(data, folder / "SKILL.md")) == []
    with pytest.raises(InvalidFrontmatterError, match="differs from the folder"):
        STRICT.parse(data, folder / "SKILL.md")


@pytest.mark.parametrize(
    "header", ["allowed-tools: [Read]", "allowed-tools: Read, Bash", "metadata: {a: [b]}"]
)
def test_strict_takes_no_more_than_the_specification(path: Path, header: str) -> None:
    parsed(path, f"{MINIMAL}\n{header}")
    with pytest.raises(InvalidFrontmatterError, match="should be"):
        parsed(path, f"{MINIMAL}\n{header}", STRICT)


def test_strict_takes_all_six_fields_of_the_specification(path: Path) -> None:
    header = (
        MINIMAL + "\nlicense: MIT\ncompatibility: Node 18+\nmetadata:\n  author: A\n  version: '1.0.0'\n"
        'allowed-tools: "Bash(git add, git commit) Read"'
    )
    metadata = parsed(path, header, STRICT)
    assert metadata.diagnostics == ()
    assert metadata.allowed_tools == ("Bash(git add, git commit)", "Read")


@pytest.mark.parametrize(
    ("spelled", "meant"),
    [
        ("allowed_tools", "allowed-tools"),
        ("Name", "name"),
        ("tools", "allowed-tools"),
        ("licence", "license"),
        ("user_invocable", "user-invocable"),
        ("Scripts-Ignore", "scripts_ignore"),
    ],
)
def test_a_near_miss_is_named_and_not_applied(path: Path, spelled: str, meant: str) -> None:
    metadata = parsed(path, f"{MINIMAL}\n{spelled}: Bash")
    [found] = metadata.diagnostics
    assert found.code == "misspelled-field"
    assert f"'{spelled}' should be '{meant}'" in found.message
    assert metadata.extra == {spelled: "Bash"}
    assert metadata.allowed_tools == ()


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (skill("just words"), InvalidFrontmatterError, "mapping"),
        (skill("- a"), InvalidFrontmatterError, "mapping"),
        ("---\nname: a\n---\n".encode("utf-16"), InvalidFrontmatterError, "UTF-16"),
        (b"---\nname: \xff\ndescription: d\n---\n", InvalidFrontmatterError, "UTF-8"),
        (b"\x7fELF\0\0\0", InvalidFrontmatterError, "not text"),
        (b"", MissingRequiredFieldError, "description"),
        (b"---\n" + b"a: b\n" * 20_000 + b"---\n", InvalidFrontmatterError, "longer than 64 KiB"),
        (skill("a: &x b\nname: pdf\ndescription: d"), InvalidYAMLError, "anchors"),
        (skill("name: pdf\ndescription: '"), InvalidYAMLError, "line"),
        (skill("name: pdf\ndescription: ["), InvalidYAMLError, "line"),
        (skill("name: pdf\ndescription:\n\t- "), InvalidYAMLError, "line"),
    ],
)
def test_what_cannot_be_guessed_is_an_error_with_the_file_in_it(
    path: Path, data: bytes, kind: type[SkillParsingError], message: str
) -> None:
    with pytest.raises(kind, match=message) as caught:
        LENIENT.parse(data, path)
    assert str(path) in str(caught.value)
    assert caught.value.diagnostics[-1].severity is Severity.ERROR
    assert caught.value.diagnostics[-1].path == path


def test_bytes_are_parsed_wherever_they_come_from(tmp_path: Path) -> None:
    path = tmp_path / "gone" / "SKILL.md"
    assert PLAIN.parse(skill("name: gone\ndescription: d"), path).skill_path == path


def test_what_quotes_do_not_mend_is_reported_as_it_was(path: Path) -> None:
    with pytest.raises(InvalidYAMLError) as caught:
        parsed(path, "name: pdf\nlicense: 'open\ndescription: [")
    assert caught.value.line == 4


def test_a_message_never_carries_what_it_warns_of(path: Path) -> None:
    metadata = parsed(path, MINIMAL + '\n"\\x1b[2J": 1\n"\\x1b[2J": 2\n"allowed\\u200b-tools": x')
    assert all(found.message.isprintable() for found in metadata.diagnostics)
    assert "duplicate-field" in codes(metadata)


def test_a_yaml_error_has_line_and_column_of_the_file(path: Path) -> None:
    with pytest.raises(InvalidYAMLError) as caught:
        PLAIN.parse(b"\xef\xbb\xbf\n\n---\nname: pdf\ndescription: a: b\n---\n", path)
    assert (caught.value.line, caught.value.column) == (5, 15)
    [*_, found] = caught.value.diagnostics
    assert (found.code, found.line, found.column) == ("yaml", 5, 15)


def test_a_diagnostic_reads_like_a_compiler_message(path: Path) -> None:
    [found] = parsed(path, MINIMAL + "\ntags: x").diagnostics
    assert str(found) == f"{path}:4: info: Field 'tags' is not known and kept in `extra` [unknown-field]"


@pytest.mark.parametrize("style", ["|", ">", "|-", ">-", ""])
def test_a_description_may_have_several_lines(path: Path, style: str) -> None:
    metadata = parsed(path, f"name: pdf\ndescription: {style}\n  First line.\n  Second line.\nlicense: MIT")
    assert metadata.description.split() == ["First", "line.", "Second", "line."]
    assert metadata.license == "MIT"
    assert metadata.diagnostics == ()


def test_crlf_and_dashes_inside_a_value(path: Path) -> None:
    data = b"---\r\nname: pdf\r\ndescription: a --- b\r\nlicense: |\r\n  ---\r\n  MIT\r\n---\r\nBody\r\n"
    metadata = LENIENT.parse(data, path)
    assert metadata.description == "a --- b"
    assert metadata.license == "---\nMIT"
    assert not metadata.recovered


def test_every_rule_is_met_by_a_test_of_this_table() -> None:
    shown = {code for _, code in SHAPES.values()}
    shown |= {code for _, code, _ in (*BROKEN.values(), *MENDED.values())}
    assert shown | {"grant-dropped", "name-separator"} == set(RULES)


def test_a_file_cannot_fill_the_log(path: Path) -> None:
    metadata = parsed(path, MINIMAL + "".join(f"\nk{n}: v" for n in range(5000)))
    assert len(metadata.extra) == 5000
    assert len(metadata.diagnostics) == 101


def test_metadata_can_be_copied_pickled_and_hashed(path: Path) -> None:
    metadata = parsed(path, MINIMAL + "\nmetadata: {a: b}\ntags: [x]")
    assert pickle.loads(pickle.dumps(metadata)) == metadata
    assert copy.deepcopy(metadata) == metadata
    assert dataclasses.asdict(metadata)["extra"] == {"tags": ["x"]}
    assert len({metadata, copy.copy(metadata)}) == 1


def test_parse_skill_file_reads_and_says_what_it_found(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.write_bytes(skill(MINIMAL + "\nallowed_tools: Read"))
    with caplog.at_level(logging.WARNING, "skillkit"):
        metadata = SkillParser().parse_skill_file(path)
    assert metadata.name == "pdf"
    assert "'allowed_tools' should be 'allowed-tools'" in caplog.text


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.text(max_size=100).map(lambda text: f"---\n{text}\n---\n".encode("utf-8", "replace")),
        st.text(max_size=60).map(
            lambda text: skill(f"{MINIMAL}\nx: {text}".encode("utf-8", "replace").decode())
        ),
    )
)
def test_whatever_the_bytes_only_our_errors_come_out(data: bytes) -> None:
    here = Path(__file__)
    for parser in (LENIENT, PLAIN, STRICT):
        try:
            metadata = parser.parse(data, here)
        except SkillParsingError as error:
            if not error.diagnostics:
                pytest.fail("an error without a diagnostic")
        else:
            assert metadata.name
            assert metadata.description
            assert not metadata.recovered or not (metadata.permissions or metadata.toolsets)


@pytest.mark.parametrize(
    ("header", "needs"),
    [
        ("requires: {commands: [git], bins: [jq]}", Requirements(commands=("git", "jq"))),
        ("requires: {env: [KEY], mcp: [github]}", Requirements(env=("KEY",), mcp=("github",))),
        ("requires: {mcp: {github: {url: x}}}", Requirements(mcp=("github",))),
        ("requires: [pdf, csv]", Requirements(skills=("pdf", "csv"))),
        ("depends: [pdf]", Requirements(skills=("pdf",))),
        ("requires: {skills: [a]}\ndepends: b", Requirements(skills=("a", "b"))),
        ("requires: {python: '>=3.11'}", Requirements(python=">=3.11")),
        ("metadata: {openclaw: {requires: {bins: [uv], env: [K]}}}", Requirements(("uv",), ("K",))),
        ("metadata: {clawdbot: {requires: {bins: [uv]}}}", Requirements(("uv",))),
        ("metadata: {openclaw: {requires: {bins: {a: b}}}}", Requirements()),
    ],
)
def test_every_spelling_of_a_need_is_read(path: Path, header: str, needs: Requirements) -> None:
    assert parsed(path, f"{MINIMAL}\n{header}").requires == needs


def test_the_fields_of_claude_code_are_known(path: Path) -> None:
    metadata = parsed(
        path,
        f"{MINIMAL}\nwhen_to_use: Also for scans.\narguments: file month\n"
        f"paths: 'src/**/*.{{ts,tsx}}, *.md'\n"
        "disallowed-tools: Bash, Write\ncontext: fork\nagent: Explore\neffort: high\nshell: bash\n"
        "user-invocable: 0\ndisable-model-invocation: 1\nhooks: {Stop: []}",
    )
    assert metadata.diagnostics == ()
    assert metadata.description == "Reads PDF files. Also for scans."
    assert metadata.argument_names == ("file", "month")
    assert metadata.paths == ("src/**/*.{ts,tsx}", "*.md")
    assert metadata.disallowed_tools == ("Bash", "Write")
    assert (metadata.context, metadata.agent, metadata.effort) == ("fork", "Explore", "high")
    assert (metadata.user_invocable, metadata.disable_model_invocation) == (False, True)
    assert metadata.hooks == {"Stop": []}
