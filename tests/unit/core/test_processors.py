"""Tier 2: one rendering, the same bytes whoever asks."""

import logging
import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skillkit.core.exceptions import ArgumentProcessingError, SizeLimitExceededError
from skillkit.core.processors import (
    MAX_ARGUMENT_BYTES,
    ArgumentSubstitutionProcessor,
    BaseDirectoryProcessor,
    CompositeProcessor,
    RenderContext,
    normalize_arguments,
    render,
    substitute,
)

HEADER = "Base directory for this skill: /skills/pdf\n\n"


@pytest.mark.parametrize(
    ("body", "arguments", "expected"),
    [
        ("Read $ARGUMENTS.", "file.pdf", "Read file.pdf."),
        ("$ARGUMENTS and $ARGUMENTS", "x", "x and x"),
        ("Read $ARGUMENTS.", "", "Read ."),
        ("Read $ARGUMENTS.", None, "Read ."),
        ("Read it.", "data.csv", "Read it.\n\nARGUMENTS: data.csv"),
        ("Read it.\n\n\n", "data.csv", "Read it.\n\nARGUMENTS: data.csv"),
        ("Read it.\n", "", "Read it.\n"),
        ("Read it.\n", None, "Read it.\n"),
        ("Cost: $$ARGUMENTS", "", "Cost: $ARGUMENTS"),
        ("Cost: $$ARGUMENTS", "x", "Cost: $ARGUMENTS\n\nARGUMENTS: x"),
        ("$$ARGUMENTS = $ARGUMENTS", "x", "$ARGUMENTS = x"),
        ("$$$ARGUMENTS", "x", "$$ARGUMENTS\n\nARGUMENTS: x"),
        ("$arguments $Arguments ${ARGUMENTS} ARGUMENTS", "x", None),
        ("$ARGUMENTS", "$ARGUMENTS", "$ARGUMENTS"),
        ("$ARGUMENTS $ARGUMENTS", "$$ARGUMENTS", "$$ARGUMENTS $$ARGUMENTS"),
        ("$ARGUMENTS", r"\1 \g<0> $1", r"\1 \g<0> $1"),
        ("$ARGUMENTS", " x ", " x "),
        ("", "x", "\n\nARGUMENTS: x"),
        ("", "", ""),
    ],
)
def test_the_rules_of_substitution(body: str, arguments: str | None, expected: str | None) -> None:
    expected = f"{body}\n\nARGUMENTS: {arguments}" if expected is None else expected
    assert render(body, "/skills/pdf", arguments) == HEADER + expected


def test_the_header_line_is_never_substituted() -> None:
    text = render("Body $ARGUMENTS", "/skills/$ARGUMENTS", "x")
    assert text == "Base directory for this skill: /skills/$ARGUMENTS\n\nBody x"


PIECES = st.lists(
    st.sampled_from(["$ARGUMENTS", "$$ARGUMENTS", "$", "a", "\n", "ARGUMENTS", "$arguments"]), max_size=8
)


@given(PIECES.map("".join), st.one_of(PIECES.map("".join), st.text(max_size=20)))
@example("$$ARGUMENTS$ARGUMENTS", "$ARGUMENTS")
def test_arguments_are_placed_once_and_never_looked_at_again(body: str, arguments: str) -> None:
    split = re.split(r"(\$?\$ARGUMENTS)", body)
    placed = "$ARGUMENTS" in split[1::2]
    expected = "".join(
        {"$ARGUMENTS": arguments, "$$ARGUMENTS": "$ARGUMENTS"}[piece] if number % 2 else piece
        for number, piece in enumerate(split)
    )
    if arguments and not placed:
        expected = expected.rstrip("\n") + f"\n\nARGUMENTS: {arguments}"
    assert substitute(body, arguments) == expected


def test_one_million_bytes_of_arguments_and_no_more() -> None:
    substitute("$ARGUMENTS", "x" * MAX_ARGUMENT_BYTES)
    substitute("$ARGUMENTS", "é" * (MAX_ARGUMENT_BYTES // 2))
    for arguments in ("x" * (MAX_ARGUMENT_BYTES + 1), "é" * (MAX_ARGUMENT_BYTES // 2 + 1)):
        with pytest.raises(SizeLimitExceededError, match="limit is 1000000 bytes"):
            substitute("$ARGUMENTS", arguments, "pdf")


def test_arguments_are_text() -> None:
    with pytest.raises(ArgumentProcessingError, match="'pdf' must be text, got list"):
        substitute("x", ["a"], "pdf")


@pytest.mark.parametrize(
    "body", ["$arguments", "$Arguments here", "$ARGUMENT", "${ARGUMENTS}", "$ ARGUMENTS"]
)
def test_something_close_to_the_placeholder_is_mentioned(body: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "skillkit"):
        substitute(body, "x", "pdf")
    assert "'pdf' has something close to $ARGUMENTS" in caplog.text


@pytest.mark.parametrize(
    "arguments",
    [
        "../../etc/passwd",
        "..\\x",
        "<SCRIPT>",
        "javascript:x",
        "!!python/object",
        "${HOME}",
        "$(id)",
        "a; rm -rf",
    ],
)
def test_suspicious_arguments_leave_a_trace_and_are_used(
    arguments: str, caplog: pytest.LogCaptureFixture
) -> None:
    processor = ArgumentSubstitutionProcessor()
    text = processor.process("$ARGUMENTS", {"arguments": arguments, "skill_name": "pdf"})
    assert text == arguments
    assert "Suspicious pattern detected in arguments for skill 'pdf'" in caplog.text


def test_the_processors_of_02_render_the_same_text() -> None:
    steps = CompositeProcessor([ArgumentSubstitutionProcessor(), BaseDirectoryProcessor()])
    context = {"arguments": "x", "base_directory": "/skills/pdf", "skill_name": "pdf"}
    assert steps.process("Do $ARGUMENTS", context) == render("Do $ARGUMENTS", "/skills/pdf", "x")


@pytest.mark.parametrize(("text", "normal"), [(None, ""), ("", ""), (" a \n b ", "a b")])
def test_normalized_arguments(text: str | None, normal: str) -> None:
    assert normalize_arguments(text) == normal


AROUND = RenderContext(("file", "month"), "/skills/pdf", "/project", "/plugin", "/data", "s-1")


@pytest.mark.parametrize(
    ("body", "arguments", "expected"),
    [
        ("$ARGUMENTS[0] and $ARGUMENTS[1]", "a.csv march", "a.csv and march"),
        ("$0 $1", "a.csv march", "a.csv march\n\nARGUMENTS: a.csv march"),
        ("$0|$1 $ARGUMENTS", '"hello world" second', 'hello world|second "hello world" second'),
        ("$ARGUMENTS[2] costs $2", "a b", " costs $2"),
        ("$1 million", "", "$1 million"),
        ("$file in $month $ARGUMENTS", "a.csv", "a.csv in  a.csv"),
        ("$filename $ARGUMENTS", "x", "$filename x"),
        (r"\$0 \$ARGUMENTS \$file \$other $ARGUMENTS", "x", r"$0 $ARGUMENTS $file \$other x"),
        (r"\\$0 $ARGUMENTS", "x", r"\\x x"),
        ("$$ARGUMENTS[0] $ARGUMENTS", "x", "$ARGUMENTS[0] x"),
        (r"only \$ARGUMENTS", "x", "only $ARGUMENTS\n\nARGUMENTS: x"),
        ("$0 'open $ARGUMENTS", "it's", "it's 'open it's"),
        ("$ARGUMENTS", "$0 ${CLAUDE_SKILL_DIR} $ARGUMENTS[0]", "$0 ${CLAUDE_SKILL_DIR} $ARGUMENTS[0]"),
        ("${CLAUDE_SKILL_DIR} {baseDir}", "", "/skills/pdf /skills/pdf"),
        (r"\${CLAUDE_SKILL_DIR}", "", r"\/skills/pdf"),
        ("${CLAUDE_PROJECT_DIR} ${CLAUDE_PLUGIN_ROOT} ${CLAUDE_PLUGIN_DATA}", "", "/project /plugin /data"),
        ("${CLAUDE_SESSION_ID} ${CLAUDE_EFFORT} ${OTHER}", "", "s-1 ${CLAUDE_EFFORT} ${OTHER}"),
        ("!`date` @notes.md", "", "!`date` @notes.md"),
    ],
)
def test_the_placeholders_of_claude_code(body: str, arguments: str, expected: str) -> None:
    assert substitute(body, arguments, "pdf", AROUND) == expected


def test_the_effort_is_what_the_skill_asks_for() -> None:
    assert substitute("${CLAUDE_EFFORT}", "", "pdf", replace(AROUND, effort="high")) == "high"


def test_what_is_not_known_leaves_its_placeholder() -> None:
    body = "${CLAUDE_SKILL_DIR} {baseDir} ${CLAUDE_SESSION_ID}"
    assert substitute(body, "") == body
