"""Names as identities, and text made safe to show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillkit.core.names import STRICT_NAME, canonical_name, deviation, plain_name, refusal
from skillkit.core.text import (
    HIDDEN_OR_LAYOUT,
    escape_hidden,
    has_control,
    has_hidden,
    one_line,
    strip_hidden,
)

HIDDEN = {
    "escape": "\x1b",
    "null": "\0",
    "delete": "\x7f",
    "C1": "\x9b",
    "right-to-left override": "\u202e",
    "isolate": "\u2066",
    "zero-width space": "\u200b",
    "zero-width joiner": "\u200d",
    "word joiner": "\u2060",
    "byte order mark": "\ufeff",
    "soft hyphen": "\xad",
    "Hangul filler": "\u3164",
    "half-width filler": "\uffa0",
    "Braille blank": "\u2800",
    "variation selector": "\ufe0f",
    "variation selector 17": "\U000e0100",
    "tag letter": "\U000e0041",
    "line separator": "\u2028",
    "paragraph separator": "\u2029",
    "lone surrogate": "\ud800",
    "non-character": "\uffff",
    "musical begin beam": "\U0001d173",
    "Mongolian separator": "\u180e",
    "combining joiner": "\u034f",
}


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("my-skill-123", "my-skill-123"),
        ("My_Skill_123", "my-skill-123"),
        ("Kalshi-Markets", "kalshi-markets"),
        ("kalshi_markets", "kalshi-markets"),
        ("  PDF  Tools ", "pdf-tools"),
        ("a __ b", "a-b"),
        ("42", "42"),
        ("ÉTÉ", "été"),
        ("e\u0301te\u0301", "été"),
        ("abc\u00a0", "abc"),
        ("\u0440df", "pdf"),
        ("\uff30\uff24\uff26", "pdf"),
        ("pdf\u2011tools", "pdf-tools"),
        ("отчёт", "отчёт"),
        ("日本", "日本"),
    ],
)
def test_spellings_of_one_name_are_one_identity(name: str, canonical: str) -> None:
    assert canonical_name(name) == canonical


@given(st.text(max_size=30))
def test_a_canonical_name_is_its_own(name: str) -> None:
    once = canonical_name(name)
    assert canonical_name(once) == once


@given(st.lists(st.text("abcxyz019", min_size=1, max_size=12), min_size=1, max_size=5).map("-".join))
def test_a_well_formed_name_is_taken_as_it_is(name: str) -> None:
    assert refusal(name) is None
    assert deviation(name) is None
    assert canonical_name(name) == name


@pytest.mark.parametrize("character", HIDDEN.values(), ids=HIDDEN.keys())
def test_what_cannot_be_seen_is_found_stripped_and_spelled_out(character: str) -> None:
    text = f"a{character}b"
    assert has_hidden(text)
    assert strip_hidden(text) == "ab"
    assert refusal(text) == "contains control or invisible characters"
    assert character not in escape_hidden(text)
    assert escape_hidden(text).isprintable()


@given(st.text(max_size=60))
def test_escaped_and_collapsed_text_hides_nothing(text: str) -> None:
    assert not HIDDEN_OR_LAYOUT.search(escape_hidden(text))
    assert not HIDDEN_OR_LAYOUT.search(one_line(text))
    assert "  " not in one_line(text)
    assert not has_hidden(strip_hidden(text))


def test_what_can_be_seen_stays() -> None:
    text = "Größe\tund\nZeile – 日本 😀 “quoted”"
    assert strip_hidden(text) == text
    assert one_line(text) == "Größe und Zeile – 日本 😀 “quoted”"
    assert escape_hidden("a\tb\r\n\u202e\U000e0041") == "a\\tb\\r\\n\\u202e\\U000e0041"


@pytest.mark.parametrize("emoji", ["❤️", "👨‍👩‍👧", "1️⃣", "⚠️ careful", "🏳️‍🌈"])
def test_an_emoji_hides_nothing(emoji: str) -> None:
    assert not has_hidden(f"Look: {emoji}!")
    assert has_hidden(f"Look: {emoji}\u200b!")


FOREIGN = [
    letter
    for start, end in ((0x370, 0x52F), (0x531, 0x588), (0x13A0, 0x13FF), (0x2C80, 0x2CFF), (0xAB70, 0xABBF))
    for letter in map(chr, range(start, end + 1))
    if letter.isalpha() and letter != "\u037a"  # decomposes to a space and a mark
]
"""Every Greek, Cyrillic, Armenian, Cherokee and Coptic letter."""


@pytest.mark.parametrize("letter", ["".join(FOREIGN[n : n + 100]) for n in range(0, len(FOREIGN), 100)])
def test_no_foreign_letter_makes_a_second_latin_name(letter: str) -> None:
    """A word with one of them among Latin letters is refused, or is the Latin word."""
    for one in letter:
        for name in (f"p{one}f", f"{one}df", f"tools-pd{one}"):
            assert refusal(name) is not None or canonical_name(name).isascii(), f"{name!r} U+{ord(one):04X}"


@pytest.mark.parametrize("first", [0xFF21, 0xFF41, 0x1D400, 0x1D41A, 0x1D670, 0x24D0])
def test_letters_of_other_shapes_are_the_letters(first: int) -> None:
    fancy = "".join(chr(first + number) for number in (15, 3, 5))
    assert canonical_name(fancy) == "pdf"


@pytest.mark.parametrize(
    ("name", "latin"),
    [
        ("ѕсоре", "scope"),
        ("РАУ", "pay"),
        ("ΤΑΧ", "tax"),
        ("ցօօց", "goog"),
        ("ꮯꮮꭺꮃ", "claw"),
        ("ⲣⲟⲣ", "pop"),
        ("ꓑꓓꓝ", "pdf"),
        ("pdƒ", "pdf"),
        ("ɡıt", "git"),
        ("ᴘᴅꜰ", "pdf"),
        ("pdf−tools", "pdf-tools"),
        ("p\u0335df\u0323", "pdf"),
    ],
)
def test_a_name_made_of_lookalikes_alone_is_the_name_it_looks_like(name: str, latin: str) -> None:
    assert canonical_name(name) == latin


@pytest.mark.parametrize(
    "name", ["pdf-отчёт", "日本pdf", "pdfデータ", "отчёт", "café", "größe", "λόγος", "한국어pdf"]
)
def test_names_in_other_scripts_are_names(name: str) -> None:
    assert refusal(name) is None
    assert not canonical_name(name).isascii()


@pytest.mark.parametrize("name", ["CON", "con", "aux", "nul.txt", "com1", "LPT9"])
def test_names_of_devices_are_refused(name: str) -> None:
    assert refusal(name) == "is reserved"


def test_control_characters_are_those_that_start_lines_or_steer_terminals() -> None:
    assert all(has_control(f"x{character}") for character in "\n\r\t\0\x1b\x9b\u2028\ud800")
    assert not has_control("/home/José/👨‍👩‍👧/skills")


@pytest.mark.parametrize(
    ("title", "plain"),
    [
        ("Enterprise Sales Alignment", "enterprise-sales-alignment"),
        ("Sales & Growth (B2B), v2.0", "sales-growth-b2b-v2-0"),
        ("Environment Matrix: Dev-Stg-Prod", "environment-matrix-dev-stg-prod"),
        ("A/B Testing", "a-b-testing"),
        ("Don't Repeat + Yourself", "don-t-repeat-yourself"),
        ("C++", "c"),
        ("pdf", "pdf"),
    ],
)
def test_a_title_has_a_plain_name(title: str, plain: str) -> None:
    assert plain_name(title) == plain


@pytest.mark.parametrize(
    "name",
    [
        *(f"a{character}b" for character in ';$|<>`*?!"\\\n\t~#%@:=[]{}^'),
        *("-rf a", "a.", "a ", " a", "../a b", "a/../b", "/etc a", "x::$DATA", "con.a b", "nul: a", ".a b"),
        *("a\u200bb c", "p\u0430y pal", "a\u2044b c", "\uff50df tools", "a\u00a0b", "", "&", "a" * 201),
    ],
)
def test_a_name_that_is_no_title_is_left_as_it_is(name: str) -> None:
    assert plain_name(name) == name


@given(st.text())
def test_a_plain_name_is_a_well_formed_name_or_the_name_itself(name: str) -> None:
    plain = plain_name(name)
    assert plain == name or (STRICT_NAME.fullmatch(plain) and plain_name(plain) == plain)
