"""Read the user's input: history, several lines, completion, a status line."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.output import Output

from skillkit.agent.cli.typed_ahead import discard_typed_ahead
from skillkit.core.disk import agent_home, open_private

_FILE = re.compile(r"(?:^|\s)@(\S*)$")
NEW_LINE = (("escape", "enter"), ("c-j",))


class Terminal:
    """A prompt at the terminal; Enter sends, Alt-Enter or Ctrl-J begins a new line."""

    def __init__(
        self,
        words: Callable[[], list[str]],
        status: Callable[[], str],
        input: Input | None = None,
        output: Output | None = None,
    ) -> None:
        bindings = KeyBindings()
        for keys in NEW_LINE:
            bindings.add(*keys)(lambda event: event.current_buffer.insert_text("\n"))
        self._session: PromptSession[str] = PromptSession(
            "> ",
            history=_history(agent_home()),
            completer=RequestCompleter(words),
            complete_while_typing=False,
            bottom_toolbar=status,
            key_bindings=bindings,
            input=input,
            output=output,
        )
        self._question: PromptSession[str] = PromptSession(input=input, output=output)

    async def read(self) -> str:
        return await self._session.prompt_async()

    async def ask(self, question: str) -> str:
        """Return input typed after the question is shown; discard earlier input."""
        clear_typeahead(self._session.input)
        discard_typed_ahead()
        return await self._question.prompt_async(question)


def _history(home: Path) -> History:
    """Return the input history in a private file; in memory if the file cannot be written."""
    path = home / "history"
    try:
        open_private(path)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))


class RequestCompleter(Completer):
    """Commands and names of skills, after a slash at the beginning; files, after an @."""

    def __init__(self, words: Callable[[], list[str]]) -> None:
        self.words = words
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        text = document.text_before_cursor
        if (named := _FILE.search(text)) is not None:
            yield from self._paths.get_completions(Document(named[1]), complete_event)
            return
        if not text.startswith("/") or " " in text:
            return
        for word in self.words():
            if word.startswith(text):
                yield Completion(word, start_position=-len(text))
