"""What the benchmarks recorded, in the words of the README; a test holds the README to it."""

from recipes.pictures.charts import recorded


def peers() -> str:
    """The table of libraries."""
    numbers = recorded("peers")
    lines = [
        f"| | {numbers['skills']:,} skills | bad files that harm nobody |",
        "|---|---|---|",
    ]
    for row in sorted(numbers["libraries"], key=lambda row: row["times"]):
        name = f"**skillkit {row['version']}**" if row["library"] == "skillkit" else _named(row)
        lines.append(f"| {name} | {row['times']:.1f} × | {row['harmless']} of {len(numbers['bad'])} |")
    return "\n".join(lines)


def tokens() -> str:
    """What a request carries that needs no skill, as shares of everything."""
    shares = [
        library["no skill fits"] / library["static injection"]
        for library in recorded("disclosure")["libraries"]
    ]
    return " / ".join(f"{share:.1%}".replace("%", " %") for share in shares)


def found(what: str) -> str:
    """How often a way of matching has the right skill first, and among three."""
    [row] = [row for row in recorded("matching")["contenders"] if row["what"] == what]
    return f"{row['first']:.0f} % / {row['among three']:.0f} %"


def script() -> str:
    times = recorded("scripts")["scripts"]["plain.py"]
    bare = times["bare interpreter"]
    ours, uv = times["skillkit, bwrap"] / bare, times["uv run"] / bare
    return f"{ours:.1f} × the bare interpreter; `uv run` {uv:.1f} ×"


def _named(row: dict[str, str]) -> str:
    return row["library"] if row["library"].startswith("skillkit") else f"{row['library']} {row['version']}"
