"""How a command ends: exit codes, and errors as one readable message."""

import os
import sys
from collections.abc import Callable, Sequence

from skillkit.core.exceptions import SkillSecurityError, SkillsUseError

OK, ERROR, USAGE, DRIFT, REFUSED, PARTIAL = range(6)
INTERRUPTED = 130


def run(program: Callable[..., object], arguments: Sequence[str]) -> int:
    """Run the program; every error on purpose becomes a message and an exit code."""
    try:
        program(_with_latest(arguments), prog_name="agent", standalone_mode=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else ERROR if end.code else OK
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted.\n")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough; do not let the interpreter complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except SkillsUseError as error:
        from skillkit.agent.cli.output import complain
        from skillkit.agent.cli.remedies import explain

        complain(explain(error))
        return exit_code(error)
    return OK


def _with_latest(arguments: Sequence[str]) -> list[str]:
    """`--continue` without an id means the newest conversation; the option parser wants a value."""
    given = list(arguments)
    for place, word in enumerate(given):
        alone = place + 1 == len(given) or given[place + 1].startswith("-")
        if word == "--continue" and alone:
            given[place] = "--continue=latest"
    return given


def merge_exit_codes(codes: Sequence[int]) -> int:
    """One exit code for many skills: their common one, or 5 when some failed and some did not."""
    if len(set(codes)) <= 1:
        return codes[0] if codes else OK
    failures = set(codes) - {OK, DRIFT}
    return PARTIAL if failures else DRIFT


def exit_code(error: SkillsUseError) -> int:
    from skillkit.install import exceptions

    match error:
        case exceptions.DriftError():
            return DRIFT
        case exceptions.ConsentError() | SkillSecurityError():
            return REFUSED
        case exceptions.ManyFoundError() | exceptions.SourceError():
            return USAGE
        case _:
            return ERROR
