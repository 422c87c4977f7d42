"""Exit codes, and errors as one readable message."""

import io
import json
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING

from skillkit.agent.cli.output import complain, print_json, remark
from skillkit.agent.exceptions import UnfinishedAnswerError
from skillkit.agent.remedies import explain
from skillkit.core.disk import close_home
from skillkit.core.exceptions import SkillSecurityError, SkillsUseError
from skillkit.install import exceptions

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

OK, ERROR, USAGE, DRIFT, REFUSED, PARTIAL = range(6)
INTERRUPTED = 130
_ENDING = (signal.SIGTERM, signal.SIGHUP)


def run(program: Callable[..., object], arguments: Sequence[str]) -> int:
    """Run the program; every error on purpose becomes a message and an exit code."""
    _mend_streams()
    close_home()
    try:
        with _ending_on_signals():
            code = _run(program, arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough; do not let the interpreter complain at exit.
        _silence_stdout()
        return OK
    except OSError as error:
        message = error.strerror or str(error)
        if error.filename:
            message = f"{message}: {error.filename}"
        with suppress(OSError):  # stdout itself may be what failed
            _as_json(arguments, "os", message)
            sys.stdout.flush()
        _silence_stdout()
        complain(message)
        return ERROR
    return code


def _mend_streams() -> None:
    """Replace closed streams with os.devnull; backslash-escape unencodable characters."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115
    if sys.stderr is sys.__stderr__ and sys.stderr is not None:
        raw = io.BufferedWriter(_BestEffortStream(sys.stderr.fileno(), "wb", closefd=False))
        sys.stderr = io.TextIOWrapper(raw, encoding=sys.stderr.encoding, line_buffering=True)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


class _BestEffortStream(io.FileIO):
    """A stderr that ignores write errors: a full disk or a closed pipe must not fail the command."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def _silence_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(program: Callable[..., object], arguments: Sequence[str]) -> int:
    try:
        if _is_question(arguments):
            message = f"There is no command '{arguments[0]}'. {_how_to_ask(arguments, 0)}"
            complain(message)
            _as_json(arguments, "usage", message)
            return USAGE
        program(_with_latest(arguments), prog_name="agent", standalone_mode=True)
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # which the parser of the command line takes for 1
            raise end.__context__ from None
        # What the parser of the command line refused was shown already; programs are told as well.
        if (explained := getattr(end.__context__, "format_message", None)) is not None:
            _as_json(arguments, "usage", explained())
            context = getattr(end.__context__, "ctx", None)
            for place, word in enumerate(arguments):
                if explained() == f"No such command {word!r}." and getattr(context, "parent", None) is None:
                    remark(_how_to_ask(arguments, place))
                    break
        return end.code if isinstance(end.code, int) else ERROR if end.code else OK
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted.\n")
        return INTERRUPTED
    except SkillsUseError as error:
        complain(explain(error))
        _as_json(arguments, error.error_code, explain(error))
        return exit_code(error)
    return OK


def _as_json(arguments: Sequence[str], code: str, message: str) -> None:
    """Print an error on stdout too if the output is JSON."""
    if "--json" in arguments:
        print_json({"error": {"code": code, "message": message}})
    elif "--stream-json" in arguments:
        sys.stdout.write(json.dumps({"type": "end", "complete": False, "error": message}) + "\n")


def _ending_on_signals() -> AbstractContextManager[None]:
    """Let SIGTERM and SIGHUP end the block as Ctrl-C does, so that child processes are cleaned up."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)  # the one exception besides Ctrl-C's that event loops let through

    in_main = threading.current_thread() is threading.main_thread()
    return _handling([each for each in _ENDING if in_main and signal.getsignal(each) == signal.SIG_DFL], end)


def hanging_up_terminates() -> AbstractContextManager[None]:
    """Let SIGHUP end a server as SIGTERM does, which servers know and end their tasks in order."""
    ignored = signal.getsignal(signal.SIGHUP) in (signal.SIG_IGN, None)  # as under nohup
    return _handling([] if ignored else [signal.SIGHUP], lambda *_: os.kill(os.getpid(), signal.SIGTERM))


@contextmanager
def _handling(numbers: Sequence[signal.Signals], handler: Callable[[int, object], None]) -> Iterator[None]:
    """Have `handler` called for these signals while the block lasts."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, handled in before.items():
            signal.signal(number, handled)


def _how_to_ask(arguments: Sequence[str], place: int) -> str:
    """Return the command that asks the model the words from `place` on, with the options before them."""
    question = " ".join(arguments[place:])
    return f"To ask the model: {shlex.join(['agent', *arguments[:place], '-p', question])}"


def _is_question(arguments: Sequence[str]) -> bool:
    """Return whether the first word is a sentence: commands contain no space."""
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
    match error:
        case UnfinishedAnswerError():
            return PARTIAL
        case exceptions.DriftError():
            return DRIFT
        case exceptions.ConsentError() | SkillSecurityError():
            return REFUSED
        case exceptions.SourceError():
            return USAGE
        case _:
            return ERROR
