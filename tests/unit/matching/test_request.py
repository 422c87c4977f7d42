"""Which words of a request and of a description count."""

from skillkit.matching.lexical import MOST_PHRASES, quoted_phrases
from skillkit.matching.request import LONGEST, Request


def test_every_word_has_a_stem_and_stop_words_are_no_terms():
    parsed = Request.parse("What's in the PDFs?")
    assert parsed.stems == ("what", "in", "the", "pdf")
    assert parsed.words == {"pdf": "PDFs"}
    assert parsed.length == 4


def test_of_a_long_request_beginning_and_end_are_read():
    parsed = Request.parse(f"giraffe {'x ' * LONGEST} zebra")
    assert {"giraff", "zebra"} <= parsed.words.keys()
    assert len(parsed.text) <= LONGEST + 1


def test_phrases_are_what_the_author_quotes():
    text = (
        'Use when people say "send a bill", \'payment due.\' or “overdue”; it\'s not a quote. "send a bill"'
    )
    assert quoted_phrases(text) == ("send a bill", "payment due", "overdue")
    assert len(quoted_phrases(" ".join(f'"phrase {number}"' for number in range(200)))) == MOST_PHRASES
