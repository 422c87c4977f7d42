"""Skills of strangers, from the corpus beside the repository, and what their own evaluation files ask.

The corpus holds texts, no code. A script is a file with nothing in it under the name that the text gives it:
what is measured is the choice, and nothing is run.
"""

import re
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

CORPUS = next(
    (
        found
        for folder in Path(__file__).resolve().parents
        if (found := folder / "shared" / "data" / "corpus").is_dir()
    ),
    Path("shared/data/corpus"),
)
MOST_TEXT = 9_000
"""Bytes of a SKILL.md that the embedded model can read in reasonable time."""
MOST_CASES = 2
MOST_SKILLS = 12
_SCRIPT = re.compile(r"\bscripts/([\w-]+\.(?:py|sh|mjs|js))\b")


def unpack_by_name(names: Iterable[str], target: Path) -> None:
    """Write the skills of these names, the first of each, with the scripts that they name."""
    wanted = set(names)
    for path, data in _members("SKILL.md"):
        name = PurePosixPath(path).parent.name
        if name in wanted and len(data) <= MOST_TEXT:
            wanted.discard(name)
            folder = target / name
            (folder / "scripts").mkdir(parents=True)
            (folder / "SKILL.md").write_bytes(data)
            for script in set(_SCRIPT.findall(data.decode("utf-8", "replace"))):
                (folder / "scripts" / script).write_text("")
    if wanted:
        raise SystemExit(f"The corpus in {CORPUS} has no skill {', '.join(sorted(wanted))}")


def generated_rows(target: Path) -> list[dict[str, Any]]:
    """Write skills that bring cases of when to use them, and return a few of each as requests."""
    from skillkit.evaluation.discovery import find_suites

    texts = {str(PurePosixPath(path).parent): data for path, data in _members("SKILL.md")}
    for path, data in _members(".json", ".jsonl", ".yaml", ".yml"):
        root = str(PurePosixPath(path).parent.parent)
        if "eval" in path and "/" in root and len(texts.get(root, b" " * (MOST_TEXT + 1))) <= MOST_TEXT:
            file = target / PurePosixPath(root).name / "evals" / PurePosixPath(path).name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            (file.parents[1] / "SKILL.md").write_bytes(texts[root])
    rows: list[dict[str, Any]] = []
    for folder in sorted(target.iterdir()):
        suites = find_suites([folder]).suites
        cases = [
            case for suite in suites for case in suite.cases if case.routing is not None and case.prompts
        ]
        rows += [
            {
                "kind": "used" if case.routing.wanted else "left alone",
                "request": case.prompts[0],
                "skill": folder.name,
                "calls": [],
            }
            for case in cases[:MOST_CASES]
            if case.routing is not None
        ]
    return rows[: MOST_SKILLS * MOST_CASES]


def _members(*endings: str) -> Iterator[tuple[str, bytes]]:
    for archive in sorted(CORPUS.glob("corpus-*.tar.xz")):
        with tarfile.open(archive) as opened:
            for member in opened:
                if member.isfile() and member.name.endswith(endings):
                    file = opened.extractfile(member)
                    if file is not None:
                        yield member.name.removeprefix("./"), file.read()
