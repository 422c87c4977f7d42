"""Blobs in an object store, here one in memory and one of files, as in a folder."""

from pathlib import Path

import pytest
from registering import Workshop, skill_files

from skillkit.core.exceptions import StateFileError
from skillkit.registry.blobs import Blobs, open_blobs
from skillkit.registry.exceptions import MissingError
from skillkit.registry.moving import remove_orphans, verify

pytest.importorskip("obstore")


@pytest.fixture(params=["folder", "memory", "files"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    kept = tmp_path / "kept"
    kept.mkdir()
    return open_blobs({"folder": str(kept), "memory": "memory:///", "files": f"file://{kept}"}[request.param])


def test_blobs_are_kept_once_found_by_name_and_removed(blobs: Blobs) -> None:
    name = blobs.put(b"content")
    assert blobs.put(b"content") == name
    assert (blobs.get(name), list(blobs.names())) == (b"content", [name])
    blobs.remove(name)
    assert list(blobs.names()) == []
    for missing in (name, "../../etc/passwd", "x"):
        with pytest.raises(MissingError):
            blobs.get(missing)


def test_a_registry_with_its_blobs_elsewhere(tmp_path: Path, blobs: Blobs) -> None:
    workshop = Workshop(tmp_path / "registry")
    workshop.registry.blobs = blobs
    workshop.publish(workshop.token(), skill_files("demo"), "1.0.0")
    orphan = blobs.put(b"orphan")
    assert workshop.client().get("/dl/acme/demo/1.0.0.tar.gz").status_code == 200
    assert remove_orphans(workshop.registry) == 1
    assert orphan not in set(blobs.names())
    assert list(verify(workshop.registry)) == []
    for name in list(blobs.names()):
        blobs.remove(name)
    assert len(list(verify(workshop.registry))) == 2


def test_an_address_that_is_no_store_is_refused() -> None:
    with pytest.raises(StateFileError, match="nowhere"):
        open_blobs("nowhere://bucket")
