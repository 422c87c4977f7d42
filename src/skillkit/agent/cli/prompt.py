"""`agent -p`: one request, one answer, nothing else on stdout."""

import asyncio
import select
import sys
from collections.abc import Callable

import typer

from skillkit.agent.cli import output
from skillkit.agent.cli.outcome import exit_code
from skillkit.agent.cli.progress import Progress
from skillkit.agent.cli.turns import Options, TurnTree, runtime_for
from skillkit.agent.models.provider import ChatProvider
from skillkit.agent.runtime import AgentRuntime
from skillkit.agent.telemetry import Stopwatch
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.text import strip_hidden

STDIN = "-"
SECONDS_OF_SILENCE = 3


def answer(text: str, options: Options) -> None:
    """Print the answer to `text` and piped input; `-` reads the pipe only."""
    request = _request(text)
    watch = Stopwatch()
    tree = TurnTree(shown=options.verbose)
    runtime = runtime_for(options, show=tree)
    _fetch_first(runtime.provider)
    runtime.name_files(text)  # not piped input, which may be third-party text
    with Progress() as progress:
        asyncio.run(_print_answer(runtime, request, progress))
    tree.finish(watch.seconds, runtime.conversation.id)


def answer_as_data(text: str, options: Options, *, streaming: bool) -> None:
    """Print the answer and how it came about as JSON: one document, or a line for each event."""
    from skillkit.agent.cli.events import TurnEvents

    request = _request(text)
    watch = Stopwatch()
    events = TurnEvents(streaming)
    runtime = runtime_for(options, observers=events.observers())
    runtime.name_files(text)
    events.start(runtime)
    failure: SkillsUseError | None = None
    try:
        _fetch_first(runtime.provider)
        asyncio.run(_hand_over(runtime, request, events.text))
    except SkillsUseError as error:
        failure = error
    events.finish(runtime, watch.seconds, failure)
    if failure is not None:
        output.complain(str(failure))  # the error is in the document already
        raise typer.Exit(exit_code(failure))


def _fetch_first(provider: ChatProvider) -> None:
    if provider.download() is not None:
        from skillkit.agent.cli.asking import fetch_first

        fetch_first(provider)


def _request(text: str) -> str:
    """Return the request: the text of `-p`, then piped input."""
    piped = _piped()
    given = "" if text == STDIN else text
    request = f"{given}\n\n{piped}" if given.strip() and piped.strip() else given or piped
    if not request.strip():
        raise typer.BadParameter("there is nothing to answer", param_hint="'-p'")
    return request


def _piped() -> str:
    """Return piped input; explain the wait if none arrives."""
    if sys.stdin.isatty():
        return ""
    try:
        ready, _, _ = select.select([sys.stdin], [], [], SECONDS_OF_SILENCE)
        if not ready:
            output.remark("Waiting for the end of what is piped in; without a pipe: agent -p … </dev/null")
        return sys.stdin.read()
    except (OSError, ValueError):  # closed, or nothing that can be read
        return ""


async def _print_answer(runtime: AgentRuntime, request: str, progress: Progress) -> None:
    """Write the answer as it comes, without the space around it."""
    held, begun = "", False

    def write(piece: str) -> None:
        nonlocal held, begun
        text = held + strip_hidden(piece)
        shown = text.rstrip() if begun else text.strip()
        held = text[len(text.rstrip()) :]
        if shown:
            if not begun:
                progress.pause()
            begun = True
            output.write_piece(shown)

    if sys.stderr.isatty():
        progress("Thinking")  # from here on the loop handles Ctrl-C, and cannot miss it
    try:
        await _hand_over(runtime, request, write)
    finally:
        output.end_line()


async def _hand_over(runtime: AgentRuntime, request: str, write: Callable[[str], None]) -> None:
    """Pass each piece of the answer to `write`; a closed pipe ends the request as Ctrl-C does.

    Leaving the loop instead would leave the streams of the HTTP client open, which are then closed in
    the wrong order and say so.
    """
    turn = asyncio.current_task()
    assert turn is not None
    refused: OSError | None = None
    try:
        async for piece in runtime.turn(request):
            try:
                write(piece)
            except OSError as error:  # the reader has gone, the disk is full
                refused = error
                turn.cancel()
    except asyncio.CancelledError:
        if refused is None:
            raise
        turn.uncancel()
    finally:
        await runtime.close()
    if refused is not None:
        raise refused
