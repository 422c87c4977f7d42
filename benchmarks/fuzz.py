"""Broken headers thrown at the parser: only our own errors come out, and none takes long.

python3 dev.py fuzz [SECONDS]
"""

import random
import sys
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from time import perf_counter, process_time

from skillkit.core.exceptions import SkillsUseError
from skillkit.core.parser import SkillParser

SLOWEST_ALLOWED = 0.25
PIECES = [
    *"-:#&*!|>'\"%@`[]{},?~<\n\r\t \0",
    *("\x85", "\u2028", "\u2029", "\ufeff", "\u202e", "\U000e0041", "é", "日本"),
    *("---\n", "---", "...\n", "\n---\n", "  ", "- ", ": ", " #", "<<: ", "&a ", "*a", "!!python/object:os "),
    *("name: x\n", "description: y\n", "name:", "metadata:\n  a: b\n", "triggers: [a, b]\n", "%YAML 1.1\n"),
    *(
        "permissions:\n  env: [A_*]\n",
        "allowed-tools: Bash(git:*) Read\n",
        "? ",
        "| ",
        ">-\n",
        "[" * 50,
        "{a: " * 20,
    ),
    *("a" * 500, " " * 2000, "\n" * 2000, "0" * 100, "1e9", "yes", "null", "# heading\n", "$ARGUMENTS"),
]
SEED_HEADER = (
    "---\nname: pdf\ndescription: Read it: all\nversion: 1.0\nmetadata:\n  a: b\ntags: [a, 'b']\n---\nBody\n"
)


def headers(dice: random.Random) -> "bytes":
    """A header that is random, a good one with wounds, or plain noise."""
    kind = dice.random()
    if kind < 0.5:
        middle = "".join(dice.choices(PIECES, k=dice.randint(0, 60)))
        return f"---\n{middle}\n---\nbody".encode("utf-8", "surrogatepass")
    if kind < 0.9:
        data = bytearray(SEED_HEADER.encode())
        for _ in range(dice.randint(1, 8)):
            place = dice.randrange(len(data))
            data[place : place + dice.randint(0, 3)] = dice.choice(PIECES).encode()
        return bytes(data)
    return dice.randbytes(dice.randint(0, 5000))


def fuzz(seed: int = 0) -> Iterator[tuple[bytes, bool]]:
    """Parse broken headers for ever; yield each and whether it could be read."""
    dice = random.Random(seed)
    parsers = [SkillParser(), SkillParser(strict=True), SkillParser(recover=True)]
    path = Path(__file__)
    for parser in cycle(parsers):
        data = headers(dice)
        try:
            parser.parse(data, path)
        except SkillsUseError:
            yield data, False
        except Exception as error:
            raise AssertionError(f"{error!r} from {data!r}") from error
        else:
            yield data, True


def main(seconds: float) -> None:
    tried = read = 0
    slowest, end, before = 0.0, perf_counter() + seconds, process_time()
    for data, readable in fuzz(seed=random.randrange(2**32)):
        taken = process_time() - before
        slowest = max(slowest, taken)
        if taken > SLOWEST_ALLOWED:
            raise AssertionError(f"{taken:.3f} s for {data!r}")
        tried, read = tried + 1, read + readable
        if perf_counter() > end:
            break
        before = process_time()
    print(
        f"{tried:,} headers, {read:,} of them readable, the slowest took {slowest * 1000:.1f} ms of CPU time"
    )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0)
