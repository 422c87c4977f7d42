"""Broken headers thrown at the parser: only our own errors come out, and none takes long.

python3 dev.py fuzz [SECONDS]
"""

import random
import sys
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


def fuzz(seconds: float, seed: int = 0) -> tuple[int, int, float]:
    """How many headers were tried and how many could be read, and the longest time one of them took."""
    dice = random.Random(seed)
    parsers = [SkillParser(), SkillParser(strict=True), SkillParser(recover=True)]
    path = Path(__file__)
    tried = read = 0
    slowest = 0.0
    end = perf_counter() + seconds
    while perf_counter() < end:
        data = headers(dice)
        start = process_time()
        try:
            parsers[tried % 3].parse(data, path)
            read += 1
        except SkillsUseError:
            pass
        except Exception as error:
            raise AssertionError(f"{error!r} from {data!r}") from error
        taken = process_time() - start
        slowest = max(slowest, taken)
        if taken > SLOWEST_ALLOWED:
            raise AssertionError(f"{taken:.3f} s for {data!r}")
        tried += 1
    return tried, read, slowest


if __name__ == "__main__":
    tried, read, slowest = fuzz(
        float(sys.argv[1]) if len(sys.argv) > 1 else 60.0, seed=random.randrange(2**32)
    )
    print(
        f"{tried:,} headers, {read:,} of them readable, the slowest took {slowest * 1000:.1f} ms of CPU time"
    )
