"""From bytes to metadata: what real files look like, what is forgiven, and what never is."""

import copy
import dataclasses
import logging
import pickle
from pathlib import Path

import pytest
from headers import LENIENT, MINIMAL, PLAIN, STRICT, codes, parsed, skill
from hypothesis import given, settings
from hypothesis import strategies as st

from skillkit.core.exceptions import (
    InvalidFrontmatterError,
    InvalidYAMLError,
    MissingRequiredFieldError,
    SkillParsingError,
)
from skillkit.core.models import Permissions, Requirements, Severity, Triggers
from skillkit.core.parser import SkillParser


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
        "~x",
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
        STRICT.parse(b"\xef\xbb\xbf\n\n---\nname: pdf\ndescription: a: b\n---\n", path)
    assert (caught.value.line, caught.value.column) == (5, 15)
    [*_, found] = caught.value.diagnostics
    assert (found.code, found.line, found.column) == ("yaml", 5, 15)


def test_a_diagnostic_reads_like_a_compiler_message(path: Path) -> None:
    [found] = parsed(path, MINIMAL + "\ntags: x").diagnostics
    assert str(found) == f"{path}:4: info: Field 'tags' is unknown and kept in `extra` [unknown-field]"


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


@settings(max_examples=3 * settings.default.max_examples, deadline=None)
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
