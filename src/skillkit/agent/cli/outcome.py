"""How a command ends: exit codes, and errors as one readable message."""

import os
import re
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from skillkit.core.disk import close_home
from skillkit.core.exceptions import SkillSecurityError, SkillsUseError

OK, ERROR, USAGE, DRIFT, REFUSED, PARTIAL = range(6)
INTERRUPTED = 130


def run(program: Callable[..., object], arguments: Sequence[str]) -> int:
    """Run the program; every error on purpose becomes a message and an exit code."""
    _mend_streams()
    close_home()
    try:
        code = _run(program, arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough; do not let the interpreter complain at exit.
        _silence_stdout()
        return OK
    except OSError as error:
        from skillkit.agent.cli.output import complain

        _silence_stdout()
        complain(f"{error.strerror or error}: {error.filename}" if error.filename else str(error))
        return ERROR
    return code


def _mend_streams() -> None:
    """Closed streams lead nowhere, and what an encoding cannot say is escaped."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _silence_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(program: Callable[..., object], arguments: Sequence[str]) -> int:
    try:
        if _is_question(arguments):
            from skillkit.agent.cli.output import complain

            words = shlex.quote(" ".join(arguments))
            complain(f"There is no command '{arguments[0]}'. To ask the model: agent -p {words}")
            return USAGE
        program(_with_latest(arguments), prog_name="agent", standalone_mode=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else ERROR if end.code else OK
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted.\n")
        return INTERRUPTED
    except SkillsUseError as error:
        from skillkit.agent.cli.output import complain
        from skillkit.agent.remedies import explain

        complain(explain(error))
        if "--json" in arguments:
            from skillkit.agent.cli.output import print_json

            print_json({"error": {"code": error_code(error), "message": explain(error)}})
        return exit_code(error)
    return OK


def error_code(error: Exception) -> str:
    """Return a word for programs: `NameConflictError` is `name-conflict`."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*", type(error).__name__.removesuffix("Error"))
    return "-".join(words).lower()


class _Ended(BaseException):
    """The process was told to end; whatever is under way is cleaned up on the way out."""

    def __init__(self, number: int) -> None:
        self.number = number


@contextmanager
def ending_on_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block as Ctrl-C does: programs are stopped, scratch folders deleted."""

    def end(number: int, _: object) -> None:
        raise _Ended(number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    except _Ended as ended:
        raise SystemExit(128 + ended.number) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_question(arguments: Sequence[str]) -> bool:
    """Whether the first word is a sentence: no command has a space in it."""
    return bool(arguments) and not arguments[0].startswith("-") and " " in arguments[0].strip()


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
    from skillkit.agent.exceptions import UnfinishedAnswerError
    from skillkit.install import exceptions

    match error:
        case UnfinishedAnswerError():
            return PARTIAL
        case exceptions.DriftError():
            return DRIFT
        case exceptions.ConsentError() | SkillSecurityError():
            return REFUSED
        case exceptions.ManyFoundError() | exceptions.SourceError():
            return USAGE
        case _:
            return ERROR
