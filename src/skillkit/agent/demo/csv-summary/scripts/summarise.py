# /// script
# requires-python = ">=3.11"
# ///
"""Print the columns of a CSV file: totals and extremes of numbers, frequent values of text, empty cells."""

import argparse
import csv
import json
from collections import Counter
from pathlib import Path


def summary(values: list[str]) -> dict[str, object]:
    """Describe one column."""
    filled = [value for value in values if value.strip()]
    try:
        numbers = [float(value) for value in filled]
    except ValueError:
        return {"empty": len(values) - len(filled), "frequent": dict(Counter(filled).most_common(3))}
    if not numbers:
        return {"empty": len(values)}
    found = {"total": sum(numbers), "min": min(numbers), "max": max(numbers)}
    return {"empty": len(values) - len(filled), **{name: round(value, 2) for name, value in found.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    with given.file.open(newline="", encoding="utf-8-sig") as opened:
        rows = list(csv.DictReader(opened))
    columns = {name: summary([row[name] or "" for row in rows]) for name in (rows[0] if rows else {})}
    if given.json:
        print(json.dumps({"rows": len(rows), "columns": columns}))
        return
    print(f"{len(rows)} rows")
    for name, found in columns.items():
        print(f"{name}: {', '.join(f'{label} {shown(value)}' for label, value in found.items())}")


def shown(value: object) -> str:
    """Return a value for people."""
    if isinstance(value, dict):
        return ", ".join(f"{word} ({count})" for word, count in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
