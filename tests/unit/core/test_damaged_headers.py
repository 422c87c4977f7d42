"""Headers as real files have them: what is said of them, what is mended, and what is never gained by it."""

from pathlib import Path

import pytest
from headers import LENIENT, MINIMAL, PLAIN, STRICT, codes, parsed, skill

from skillkit.core.exceptions import (
    InvalidFrontmatterError,
    SkillParsingError,
)
from skillkit.core.models import Permissions, Severity, Triggers
from skillkit.core.parser import RULES, SkillParser

# How real files look: what loads, what is said, and what the specification says to the same file.

SHAPES = {
    "unknown field": (skill(MINIMAL + "\ntags: [a]"), "unknown-field"),
    "an extension of ours": (skill(MINIMAL + "\nversion: '1'"), "extension-field"),
    "commas between tools": (skill(MINIMAL + "\nallowed-tools: Read, Grep"), "lenient-value"),
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
    "empty trigger": (skill(MINIMAL + "\ntriggers: ['', ok]"), "trigger"),
    "blank trigger": (skill(MINIMAL + "\ntriggers: ['   ']"), "trigger"),
    "empty keyword": (skill(MINIMAL + "\ntriggers: {keywords: ['']}"), "trigger"),
    "kind of trigger": (skill(MINIMAL + "\ntriggers: {bogus: [x]}"), "trigger"),
    "broken pattern": (skill(MINIMAL + "\ntriggers: {patterns: ['(']}"), "trigger"),
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
    if code not in ("extension-field", "lenient-value"):
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
    "unterminated": (b"---\nname: pdf\ndescription: d\n\n# Title\n", "unterminated-header", "d"),
    "unterminated, unquoted": (b"---\nname: pdf\ndescription: a: b\n\n# T\n", "unterminated-header", "a: b"),
    "unterminated, no description": (b"---\nname: pdf\n\n# Title #\n", "unterminated-header", "Title"),
    "no name": (skill("description: d"), "missing-name", "d"),
    "empty name": (skill("name: ''\ndescription: d"), "missing-name", "d"),
    "name that is a list": (skill("name: [x]\ndescription: d"), "missing-name", "d"),
    "no header": (b"Intro\n\n## Read PDFs ##\n", "no-header", "Read PDFs"),
    "no header, no heading": (b"\n  Just a line\nand another\n", "no-header", "Just a line"),
}


@pytest.mark.parametrize(("data", "code", "description"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_header_is_recovered_only_when_asked(
    path: Path, data: bytes, code: str, description: str
) -> None:
    metadata = LENIENT.parse(data, path)
    assert metadata.recovered, "a guess is not offered"
    assert code in codes(metadata)
    assert (metadata.name, metadata.description) == ("pdf", description)
    for parser in (PLAIN, STRICT):
        with pytest.raises(SkillParsingError):
            parser.parse(data, path)


@pytest.mark.parametrize("kind", [kind for kind, (data, *_) in BROKEN.items() if b"\nlicense: MIT" in data])
def test_a_broken_field_costs_no_other(path: Path, kind: str) -> None:
    metadata = LENIENT.parse(BROKEN[kind][0], path)
    assert metadata.license == "MIT"
    assert {found.code for found in metadata.diagnostics} <= {"broken-field"}


MENDED = {
    "unquoted colon": (
        skill("name: pdf\ndescription: Use when: always"),
        "unquoted-value",
        "Use when: always",
    ),
    "unquoted at sign": (skill("name: pdf\ndescription: '@x'\nmodel: @y"), "unquoted-value", "@x"),
    "two hints": (skill(MINIMAL + "\nargument-hint: [a] [b]"), "unquoted-value", "Reads PDF files."),
}


@pytest.mark.parametrize(("data", "code", "description"), MENDED.values(), ids=MENDED.keys())
@pytest.mark.parametrize("parser", [LENIENT, PLAIN])
def test_values_that_only_lack_quotes_get_them(
    path: Path, parser: SkillParser, data: bytes, code: str, description: str
) -> None:
    metadata = parser.parse(data, path)
    assert not metadata.recovered
    assert code in codes(metadata)
    assert (metadata.name, metadata.description) == ("pdf", description)
    with pytest.raises(SkillParsingError):
        STRICT.parse(data, path)


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
    metadata = parsed(path, f"name: {name}\ndescription: d", PLAIN)
    assert metadata.name == mended
    assert not metadata.recovered
    assert "name-separator" in codes(metadata)
    with pytest.raises(InvalidFrontmatterError, match="separator"):
        parsed(path, f"name: {name}\ndescription: d", STRICT)


def test_every_rule_is_met_by_a_test_of_this_table() -> None:
    shown = {code for _, code in SHAPES.values()}
    shown |= {code for _, code, _ in (*BROKEN.values(), *MENDED.values())}
    assert shown | {"grant-dropped", "name-separator"} == set(RULES)
