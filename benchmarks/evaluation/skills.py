"""Real skills to put defects into: whole folders of text from the corpus, and folders with scripts."""

import json
import lzma
import os
import random
import tarfile
from collections.abc import Iterator
from pathlib import Path

BUNDLED = Path(__file__).resolve().parents[2] / "src" / "skillkit" / "bundled"


def corpus_folder(given: str | None) -> Path | None:
    """The corpus that is named, or lies beside the project."""
    named = given or os.environ.get("SKILLKIT_CORPUS")
    if named:
        return Path(named)
    beside = (folder / "shared" / "data" / "corpus" for folder in Path(__file__).resolve().parents)
    return next((folder for folder in beside if folder.is_dir()), None)


def unpack(corpus: Path, into: Path) -> None:
    for archive in sorted(corpus.glob("corpus-*.tar.xz")):
        with tarfile.open(archive) as opened:
            opened.extractall(into, filter="data")


_TEXTS = frozenset(f"ext:{suffix}" for suffix in "md json yaml yml toml csv txt".split())


def sound_folders(corpus: Path, unpacked: Path, count: int, seed: int) -> list[Path]:
    """Folders whose SKILL.md followed the specification when the corpus was made, and which are whole.

    The choice rests on the corpus's own index, not on what is measured here. Folders with code, which the
    corpus leaves out, are not whole: their text refers to files that are missing.
    """
    with lzma.open(corpus / "index.jsonl.xz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    found: dict[str, Path] = {}
    for row in rows:
        kinds = {feature for feature in row["features"] if feature.startswith("ext:")}
        folder = (unpacked / row["repo"].replace("/", "__") / row["path"]).parent
        if row["parse"] == "strict" and row["whole"] and row["files"] > 1 and kinds <= _TEXTS:
            found.setdefault(row["name"], folder)
    chosen = sorted(found.values())
    random.Random(seed).shuffle(chosen)
    return chosen[:count]


def script_folders(folders: list[Path]) -> Iterator[Path]:
    """Skills with scripts: the bundled ones, and those beneath `folders`."""
    for base in (BUNDLED, *folders):
        for manifest in sorted(base.rglob("SKILL.md")):
            if any((manifest.parent / "scripts").glob("*.py")):
                yield manifest.parent
