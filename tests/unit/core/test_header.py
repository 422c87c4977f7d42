"""Where a header is, and what stands in it: plain lines and YAML give the same answer."""

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skillkit.core.exceptions import InvalidFrontmatterError, InvalidYAMLError, SkillParsingError
from skillkit.core.fields import KNOWN
from skillkit.core.header import HEAD_BYTES, MAX_HEADER_BYTES, load, split
from skillkit.core.simple_header import Field, load_simple
from skillkit.core.yaml_header import MAX_DEPTH, load_yaml


def header_and_body(data: bytes) -> tuple[bytes, bytes]:
    parts = split(data)
    return data[parts.header_start : parts.header_end], data[parts.body_start :]


@pytest.mark.parametrize(
    ("data", "header", "body"),
    [
        (b"---\na: b\n---\nbody\n", b"a: b", b"body\n"),
        (b"---\n---\nbody", b"", b"body"),
        (b"---\na: b\n---", b"a: b", b""),
        (b"---\na: b\n---\n", b"a: b", b""),
        (b"---\r\na: b\r\n---\r\nbody\r\n", b"a: b", b"body\r\n"),
        (b"---\ra: b\r---\rbody", b"a: b", b"body"),
        (b"---  \na: b\n--- \t\nbody", b"a: b", b"body"),
        (b"\xef\xbb\xbf---\na: b\n---\nbody", b"a: b", b"body"),
        (b"\n\n---\na: b\n---\nbody", b"a: b", b"body"),
        (b"---\na: x --- y\n---\nbody", b"a: x --- y", b"body"),
        (b"---\na: |\n  ---\n  b\n---\nbody", b"a: |\n  ---\n  b", b"body"),
        (b"---\na: b\n---- no fence\n---\nbody", b"a: b\n---- no fence", b"body"),
        (b"---\na: b\n---x\n---\nbody", b"a: b\n---x", b"body"),
        (b"---\na: b\r\n---\r\nbody\n---\n", b"a: b", b"body\n---\n"),
        (b"---\na: b\n---\nbody\n---\nmore", b"a: b", b"body\n---\nmore"),
    ],
)
def test_each_fence_is_a_whole_line(data: bytes, header: bytes, body: bytes) -> None:
    assert header_and_body(data) == (header, body)


@pytest.mark.parametrize(
    "data", [b"", b"# Title\n", b"text\n---\na: b\n---\n", b"----\na: b\n---\n", b"\n" * 5000, b"--\n"]
)
def test_without_an_opening_fence_everything_is_body(data: bytes) -> None:
    parts = split(data)
    assert not parts.found
    assert parts.body_start == 0


@pytest.mark.parametrize(
    ("data", "header", "body"),
    [
        (b"---\na: b\nc: d\n\n# Title\n", b"a: b\nc: d\n", b"\n# Title\n"),
        (b"---\na: b\n# Title\n", b"a: b\n", b"# Title\n"),
        (b"---\na:\n  - x\n- y\nSome prose.\n", b"a:\n  - x\n- y\n", b"Some prose.\n"),
        (b"---\na: b", b"a: b", b""),
        (b"---", b"", b""),
    ],
)
def test_a_header_that_does_not_end_ends_at_the_first_prose(data: bytes, header: bytes, body: bytes) -> None:
    assert not split(data).terminated
    assert header_and_body(data) == (header, body)


def test_a_fence_beyond_the_limit_is_none() -> None:
    data = b"---\na: b\n\n" + b"prose\n" * 20_000 + b"---\nend"
    assert not split(data).terminated
    assert header_and_body(data)[0] == b"a: b\n"


@pytest.mark.slow
@settings(max_examples=2 * settings.default.max_examples, deadline=None)
@given(
    st.lists(
        st.sampled_from([b"---", b"\n", b"\r", b" ", b"a: b", b"\xef\xbb\xbf", b"x", b"- y", b"-", b"\t"]),
        max_size=60,
    ),
    st.integers(0, 40),
)
def test_the_beginning_of_a_file_tells_as_much_as_all_of_it(pieces: list[bytes], filler: int) -> None:
    beginning = b"".join(pieces)
    data = beginning + b"some words of prose\n" * (filler * 200)
    whole, head = split(data), split(data[:HEAD_BYTES])
    assert whole == head
    assert whole.header_start <= whole.header_end <= whole.body_start <= len(data)
    assert whole.header_end - whole.header_start <= HEAD_BYTES
    assert not whole.terminated or whole.header_end - whole.header_start <= MAX_HEADER_BYTES


# The two readers

KEYS = "name description version triggers other x-1 metadata allowed-tools"
FIRST = st.sampled_from(KEYS.split())
PLAIN = (
    "a|b c|1.0|42|true|No|null|~|1e5|1e999|0x1F|0o7|1_000|2020-01-01|-5|é|日本|😀|a,b|a:b|x#y|@a|%d|`b`|?|:"
)
SPECIAL = "it's;[a, b];[a,'b'];[];[a:b];{a: b};a: b;x # y;#c;- z;|;>;&x;*x;!t;? a;';'';'q';];[;[[a]];[a]b]"
ODD = ['"', '""', '"q"', "\xa0", "\u2028", "\x85", "\t", "\\n", '"\\x41"', "---", "...", "<<"]
WORDS = st.sampled_from([*PLAIN.split("|"), *SPECIAL.split(";"), *ODD])
VALUES = st.lists(WORDS, max_size=4).map(" ".join)
LINES = st.one_of(
    st.builds("{}: {}".format, FIRST, VALUES),
    st.builds("{}:{}".format, FIRST, VALUES),
    st.builds("{}:".format, FIRST),
    st.builds("{}{}".format, st.sampled_from([" ", "  "]), VALUES),
    st.builds("{}- {}".format, st.sampled_from(["", " ", "  ", "    "]), VALUES),
    st.builds("{}{}: {}".format, st.sampled_from([" ", "  ", "    "]), FIRST, VALUES),
    st.sampled_from(
        ["", "  ", "# c", "  # c", "---", "...", "%YAML 1.1", "prose", "\t", "? a", "-", "<<: a"]
    ),
    st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=12),
)
BREAKS = st.sampled_from(["\n", "\r\n"])
HEADERS = st.builds(lambda lines, line_break: line_break.join(lines), st.lists(LINES, max_size=8), BREAKS)


@settings(max_examples=6 * settings.default.max_examples, deadline=None)
@given(HEADERS)
@example('name: a\ndescription: it\'s "x"')
@example("triggers: [a, 'b', \"c\"]\nother: [1, true, x]")
@example("metadata:\n  version: 1.0\n  tags: [a, b]\n")
@example("name:\n- a\n- b\nother:\n    - 1\n    - 2\n")
@example("k" * 2000 + ": value")
@example("name: a\ndescription: one\n  two #\n   3\nversion: 1\n 2\nother: ~\n  ~")
@example("other: 'a\\b'")
def test_the_plain_reader_agrees_with_yaml_on_all_it_accepts(text: str) -> None:
    simple = load_simple(text, 2, KNOWN)
    if simple is not None:
        assert simple == load_yaml(text, 2, KNOWN)


def test_the_plain_reader_accepts_what_most_headers_are_made_of() -> None:
    text = (
        "name: pdf\ndescription: Use it,\n  often (really).\nversion: 1.20\nother: 12\nlist: [a, b]\n"
        "# comment\nmetadata:\n  author: Jane\ntriggers:\n  - 'one'\n  - \"two\"\nempty:\n"
    )
    assert load_simple(text, 2, KNOWN) == [
        Field("name", "pdf", 2, False),
        Field("description", "Use it, often (really).", 3, False),
        Field("version", "1.20", 5, False),
        Field("other", 12, 6, False),
        Field("list", ["a", "b"], 7, False),
        Field("metadata", {"author": "Jane"}, 9, False),
        Field("triggers", ["one", "two"], 11, False),
        Field("empty", None, 14, False),
    ]


WORD = st.text(alphabet="abcdefghij XYZ", min_size=1, max_size=12).map(str.strip).filter(bool)
BENIGN = st.dictionaries(
    st.text(alphabet="abcdefgh-", min_size=1, max_size=8).map(lambda key: f"k{key}"),
    st.recursive(
        st.one_of(WORD.map(lambda word: f"w{word}"), st.integers(-1000, 1000), st.booleans(), st.none()),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(WORD.map(lambda key: f"k{key}"), inner, max_size=3)
        ),
        max_leaves=8,
    ),
    min_size=1,
    max_size=5,
)


@settings(deadline=None)
@given(BENIGN, st.booleans())
def test_benign_yaml_means_what_safe_load_says(data: dict[str, object], flow: bool) -> None:
    text = yaml.safe_dump(data, default_flow_style=flow, width=60)
    fields = load(text)
    assert {field.key: field.value for field in fields} == yaml.safe_load(text)


@settings(max_examples=2 * settings.default.max_examples, deadline=None)
@given(st.one_of(HEADERS, st.text(max_size=80)))
def test_no_header_raises_anything_but_our_errors(text: str) -> None:
    try:
        load(text, 5)
    except InvalidYAMLError as error:
        place = (error.line or 0, error.column or 0)
    except InvalidFrontmatterError:
        return
    else:
        return
    assert place >= (5, 1)
    assert place[1] >= 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("k: 1.0", 1.0),
        ("k: 7", 7),
        ("k: yes", "yes"),
        ("k: no", "no"),
        ("k: True", True),
        ("k: 2020-01-01", "2020-01-01"),
        ("k: 1e999", "1e999"),
        ("k: 012", "012"),
        ("k: '1.0'", "1.0"),
        ("k: " + "9" * 5000, "9" * 5000),
        ("k: |\n  two\n  lines\n", "two\nlines\n"),
        ("k: >-\n  two\n  lines\n", "two lines"),
    ],
)
def test_a_plain_scalar_is_what_a_person_means(text: str, value: object) -> None:
    [field] = load(text)
    assert field.value == value
    assert type(field.value) is type(value)


def test_known_fields_keep_numbers_as_they_are_written() -> None:
    fields = load("version: 1.20\nother: 1.20", text_only=KNOWN)
    assert [field.value for field in fields] == ["1.20", 1.2]


def nested(depth: int) -> str:
    return "k: " + "[" * (depth - 1) + "]" * (depth - 1)


def test_nesting_is_limited() -> None:
    load(nested(MAX_DEPTH))
    with pytest.raises(InvalidYAMLError, match="nesting deeper than 8"):
        load(nested(MAX_DEPTH + 1))


@pytest.mark.parametrize(
    ("text", "what", "line", "column"),
    [
        ("a: &x 1\nb: *x", "anchors", 1, 4),
        ("a: 1\nb: *x", "aliases", 2, 4),
        ("a: !!python/object/apply:os.system ['id']", "tags", 1, 4),
        ("a: !!str 1", "tags", 1, 4),
        ("!!map\na: 1", "tags", 1, 1),
        ("a: ! [b]", "tags", 1, 4),
        ("x: 1\n<<: {a: b}", "merge keys", 2, 1),
        ("a:\n  <<: {b: c}", "merge keys", 2, 3),
        ("? [a, b]\n: c", "a key that is not text", 1, 3),
        ("%YAML 1.1\n---\na: b", "YAML directives", 1, 1),
        ("%TAG ! tag:x,2000:\n---\na: b", "YAML directives", 1, 1),
        ("a: b\n--- \nc: d", "more than one document", 2, 1),
        ("a: b\n...\n---\nc: d", "more than one document", 3, 1),
    ],
)
def test_what_has_no_business_in_a_header_is_refused_where_it_stands(
    text: str, what: str, line: int, column: int
) -> None:
    with pytest.raises(InvalidYAMLError, match="cannot contain") as caught:
        load(text)
    assert what in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("name: a\ndescription: b: c", 2, 15),
        ("name: a\nb: [1, 2", 3, 1),
        ("name: 'a", 1, 7),
        ("name: a\n\tb: c", 2, 1),
        ("name: a\nb: x\x00y", 2, 5),
        ("name: a\x07", 1, 8),
    ],
)
def test_an_error_says_line_and_column(text: str, line: int, column: int) -> None:
    with pytest.raises(InvalidYAMLError) as caught:
        load(text, 10)
    assert caught.value.line is not None
    assert caught.value.line >= 10
    assert abs(caught.value.line - (line + 9)) <= 1
    assert f"line {caught.value.line}, column {caught.value.column}" in str(caught.value)


@pytest.mark.parametrize("text", ["just text", "- a\n- b", "'quoted'", "[a, b]", "42"])
def test_a_header_is_a_mapping(text: str) -> None:
    with pytest.raises(InvalidFrontmatterError, match="mapping of fields"):
        load(text)


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment", "  "])
def test_an_empty_header_has_no_fields(text: str) -> None:
    assert load(text) == []


@pytest.mark.parametrize("line_break", ["\u2028", "\u2029", "\x85"])
def test_a_line_break_that_only_yaml_knows_adds_no_key(line_break: str) -> None:
    text = f"name: a\ndescription: harmless{line_break}permissions: {{network: true}}"
    try:
        keys = [field.key for field in load(text)]
    except SkillParsingError:
        return
    assert "permissions" not in keys
