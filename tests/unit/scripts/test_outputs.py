"""What scripts have made is handed out in the parts that were asked for."""

from pathlib import Path

from skillkit.core.authority import Requester
from skillkit.scripts.models import OutputFile
from skillkit.scripts.outputs import OutputStore


def test_a_page_is_as_long_as_was_asked_for(tmp_path: Path) -> None:
    outputs, requester = OutputStore(tmp_path), Requester("test", conversation="one")
    [kept] = outputs.keep([OutputFile("table.csv", "text/csv", "sha256:0", b"0123456789")], requester)
    page = outputs.page(kept.uri, requester, offset=2, limit=4)
    assert (page.text, page.next_offset) == ("2345", 6)
    assert outputs.page(kept.uri, requester).text == "0123456789"
