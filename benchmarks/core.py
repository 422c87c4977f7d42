"""What the core costs beside the least that any library must do: list the folders and read the files.

python3 dev.py bench core [SIZES…]
"""

import gc
import os
import statistics
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path

from benchmarks.measure import best, duration, table
from skillkit import SkillManager

HEADER = """---
name: {name}
description: Extract text and tables from PDF files, fill in forms, merge documents {number}. Use it when
  working with PDF files or when the user mentions forms or the extraction of documents.
license: MIT
version: 1.{number}.0
author: Jane Doe
metadata:
  category: documents
allowed-tools: Read, Bash
tags: [pdf, tables, forms]
---
"""
PLAIN_HEADER = HEADER.replace("Use it when\n  working", "Use it when working")
BODY = "# {name}\n\nWork on $ARGUMENTS.\n" + "A line of instructions, as they stand in real skills.\n" * 80


def main(sizes: list[int]) -> None:
    rows, invocations = [], []
    with tempfile.TemporaryDirectory() as scratch:
        for size in sizes:
            root = Path(scratch) / str(size)
            write_skills(root, size)
            rows.append(discovery_row(root, size))
        invocations = invocation_rows(root)
    table(
        "Discovery",
        ["skills", "floor", "cold", "× floor", "again", "refresh()", "× floor", "memory for 1,000"],
        rows,
    )
    table("Invocation", ["what", "time", "× Path.read_text"], invocations)
    table("Import, in fresh processes", ["what", "time", "× import yaml"], import_rows())


def write_skills(root: Path, size: int) -> None:
    """Skills as people write them: nine headers of ten are plain lines, one needs all of YAML."""
    for number in range(size):
        name = f"skill-{number:05d}"
        folder = root / name
        folder.mkdir(parents=True)
        header = HEADER if number % 10 == 0 else PLAIN_HEADER
        text = header.format(name=name, number=number) + BODY.replace("{name}", name)
        (folder / "SKILL.md").write_text(text, encoding="utf-8")


def floor(root: Path) -> None:
    """List the folders, read 4 KiB of each SKILL.md, parse nothing."""
    for entry in sorted(os.scandir(root), key=lambda entry: entry.name):
        with open(f"{entry.path}/SKILL.md", "rb") as file:
            file.read(4096)


def manager_of(root: Path) -> SkillManager:
    return SkillManager(project_skill_dir=root, anthropic_config_dir="", max_folders=1_000_000)


def discovery_row(root: Path, size: int) -> list[str]:
    repeat = 9 if size <= 1000 else 3
    least, cold = [], []
    manager = manager_of(root)
    for _ in range(repeat):
        manager = manager_of(root)
        gc.collect()
        # One beside the other, so that a noisy moment hits both.
        least.append(best(lambda: floor(root), repeat=1))
        cold.append(best(manager.discover, repeat=1))
    again = best(manager.discover, repeat=repeat)
    refresh = best(manager.refresh, repeat=repeat)
    base, first = min(least), min(cold)
    return [
        f"{size:,}",
        duration(base),
        duration(first),
        f"{first / base:.1f}",
        duration(again),
        duration(refresh),
        f"{refresh / base:.1f}",
        f"{memory(root) / size * 1000 / 2**20:.2f} MiB",
    ]


def memory(root: Path) -> int:
    gc.collect()
    tracemalloc.start()
    manager = manager_of(root)
    manager.discover()
    gc.collect()
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert manager.list_skills()
    return used


def invocation_rows(root: Path) -> list[list[str]]:
    manager = manager_of(root)
    manager.discover()
    file = root / "skill-00001" / "SKILL.md"

    def first() -> None:
        manager.clear_cache()
        manager.invoke_skill("skill-00001", "report.pdf")

    read = best(lambda: file.read_text(encoding="utf-8"), number=500)
    rows = [
        ("Path.read_text of the file", read),
        ("first invocation", best(first, number=500)),
        ("cached invocation", best(lambda: manager.invoke_skill("skill-00001", "report.pdf"), number=2000)),
    ]
    return [[what, duration(time), f"{time / read:.2f}"] for what, time in rows]


def import_rows() -> list[list[str]]:
    statements = {
        "import yaml": "import yaml",
        "import skillkit": "import skillkit",
        "from skillkit import SkillManager": "from skillkit import SkillManager",
    }
    times: dict[str, list[float]] = {what: [] for what in statements}
    for _ in range(15):
        for what, statement in statements.items():
            code = (
                f"import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"
            )
            answer = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
            times[what].append(float(answer.stdout))
    medians = {what: statistics.median(values) for what, values in times.items()}
    return [[what, duration(time), f"{time / medians['import yaml']:.2f}"] for what, time in medians.items()]


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [100, 1000, 10_000])
