"""Which files of scripts a model looks at."""

import hashlib
from pathlib import Path

import pytest

from skillkit.disclosure import tool_result
from skillkit.disclosure.tool_result import media_type_of, read_shown

PNG = b"\x89PNG\r\n\x1a\n rest"


def made(path: Path, content: bytes) -> dict[str, object]:
    path.write_bytes(content)
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    return {"name": path.name, "path": str(path), "digest": digest, "media_type": "text/plain"}


@pytest.mark.parametrize(
    ("beginning", "media_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"%PDF-1.7", "application/pdf"),
        (b"<svg/>", None),
        (b"RIFF\0\0\0\0WAVE", None),
        (b"", None),
    ],
)
def test_the_first_bytes_say_what_a_file_is(beginning: bytes, media_type: str | None) -> None:
    assert media_type_of(beginning) == media_type


def test_only_the_kinds_that_are_wanted_are_shown_whatever_a_name_says(tmp_path: Path) -> None:
    files = [
        made(tmp_path / "chart.txt", PNG),
        made(tmp_path / "fake.png", b"no picture"),
        made(tmp_path / "report.pdf", b"%PDF-1.7"),
    ]
    assert [(file.name, file.media_type) for file in read_shown(files, ["image/*"])] == [
        ("chart.txt", "image/png")
    ]
    assert len(read_shown(files, ["image/*", "application/pdf"])) == 2
    assert read_shown(files, []) == ()


def test_what_is_too_large_changed_or_gone_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool_result, "MAX_BYTES", 100)
    large = made(tmp_path / "large.png", PNG + bytes(100))
    changed = made(tmp_path / "changed.png", PNG)
    (tmp_path / "changed.png").write_bytes(PNG + b"!")
    gone = {**changed, "path": str(tmp_path / "gone.png")}
    fine = made(tmp_path / "fine.png", PNG)
    shown = read_shown([large, changed, gone, {"name": "nowhere"}, fine], ["image/*"])
    assert [file.name for file in shown] == ["fine.png"]
    assert shown[0].data_url.startswith("data:image/png;base64,iVBOR")


def test_a_script_that_makes_many_pictures_shows_a_few(tmp_path: Path) -> None:
    files = [made(tmp_path / f"{number}.png", PNG) for number in range(10)]
    assert len(read_shown(files, ["image/*"])) == tool_result.MAX_SHOWN
