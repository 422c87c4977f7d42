"""No writer writes a secret, whatever characters it is made of and however it is escaped."""

import html
import json
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skillkit.core.events import Event, Kind
from skillkit.journal.sensitive import Secrets, described, redacted
from skillkit.journal.sqlite import rows_of

SECRETS = st.text(min_size=8, max_size=40)
MARKS = "abcdefgh"


def written(value: str) -> list[str]:
    """`value` as programs write it."""
    forms = [value, html.escape(value), repr(value), repr(value.encode("utf-8", "surrogatepass"))]
    forms.append(quote(value.encode("utf-8", "surrogatepass")))
    for ascii_only in (True, False):
        once = json.dumps({"a": [value]}, ensure_ascii=ascii_only)
        forms += [once, json.dumps(once, ensure_ascii=not ascii_only), json.dumps(json.dumps(once))]
    return forms


@given(SECRETS)
@example('pä"ss-word-123')
@example("\\" * 8)
@example('"' * 8)
@example("\\u00e4\\u00e4")
@example("\ud83d😀\udce4\u2028\x00\x7f")
@example("a\nb\tc\rd\x0ce")
@example('","b":"cc')
@example("[A_TOKEN][A_TOKEN]")
def test_a_secret_of_any_characters_is_in_nothing_that_is_written(value: str) -> None:
    secrets = Secrets(((value, "<name>"),))
    hidden = {value, *(json.dumps(value, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False))}
    for text in written(value):
        shown = secrets.masked(f"before {text} after")
        assert "<name>" in shown
        for spelled in hidden:
            assert spelled not in shown.replace("<name>", "")
    line = secrets.json({"key " + value: [value, {"nested": json.dumps(value)}]})
    assert isinstance(json.loads(line), dict)
    assert value not in str(json.loads(line))


@given(
    st.text(alphabet=MARKS, min_size=8, max_size=12),
    st.text(alphabet=st.characters(exclude_characters=MARKS + MARKS.upper())),
)
def test_what_is_no_secret_stays_as_it_is(value: str, text: str) -> None:
    assert Secrets(((value, "[A]"),)).masked(text) == text


def test_the_journal_and_descriptions_mask_with_the_same_function(monkeypatch: pytest.MonkeyPatch) -> None:
    value = 'pä"ss-word-123'
    monkeypatch.setenv("SOME_PASSWORD", value)
    monkeypatch.setenv("ENABLE_SENSITIVE_DATA", "true")
    data = {"text": value, value: json.dumps({"inner": value})}
    [row] = rows_of([Event(Kind.OFFERED, value, "", data, conversation=value)])
    for shown in (str(row), str(described(value)), redacted(json.dumps(data))):
        assert "word-123" not in shown
        assert "SOME_PASSWORD" in shown or "some-password" in shown
