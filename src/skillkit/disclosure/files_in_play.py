"""Project files that a conversation is about: a skill with `paths` is offered while one of them matches."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from skillkit.core.authority import current_requester
from skillkit.core.models import SkillMetadata
from skillkit.core.path_patterns import matches_any
from skillkit.disclosure.messages import Messages, as_messages, call_texts, role_of, text_of, user_text
from skillkit.disclosure.session import SkillSession

MAX_READ = 64 * 1024
"""Characters at the end of a request that are searched for file names; names from earlier requests are
kept."""
_WORD = re.compile(r"[^\s\"'`<>|(){}\[\],;*]{2,512}")
_LINE = re.compile(r"(?::\d+){1,2}(?:-\d+)?$|#L\d+(?:-L?\d+)?$")
_LIKE_FILE = re.compile(r"[^/]*\.[A-Za-z][A-Za-z0-9_-]{0,15}|\.[\w.-]+|(?:[A-Z][a-z]+|make|just)file")


def note_files(
    messages: Messages, session: SkillSession, project: Path, names_files: Callable[[str, SkillSession], bool]
) -> None:
    """Remember the files named by `messages` and by the program's user.

    `names_files` decides by a tool's name whether its arguments are searched.
    """
    texts = _newest_texts(messages, lambda tool: names_files(tool, session))
    words = [word for text in texts for word in named_files(text)]
    session.add_files([*(os.fspath(path) for path in current_requester().files), *words], project)


def named_files(text: str) -> Iterator[str]:
    """Yield the words of a text that look like file names."""
    for word in _WORD.findall(text):
        name = _LINE.sub("", word.lstrip("@").rstrip(".:!?"))
        if "://" not in name and ("/" in name.strip("/") or _LIKE_FILE.fullmatch(name)):
            yield name


def counts(skill: SkillMetadata, session: SkillSession, project: Path) -> bool:
    """Return whether a skill has no `paths`, or one of the files in play matches them."""
    if not skill.paths:
        return True
    return any(_fits(skill.paths, name, project) for name in session.files)


def _fits(patterns: tuple[str, ...], name: str, project: Path) -> bool:
    if matches_any(patterns, name):
        return True
    # A user may write `app.ts` without its folder, unless a file of that exact name exists.
    return matches_any(patterns, name, partial=True) and not os.path.lexists(project / name)


def _newest_texts(messages: Messages, counts_tool: Callable[[str], bool]) -> Iterator[str]:
    """Yield texts and tool arguments of the conversation, newest first, up to a limit."""
    left = MAX_READ
    for message in reversed(as_messages(messages)):
        said = user_text(message) if role_of(message) == "user" else ""
        if role_of(message) == "assistant":
            said = text_of(message)
        for text in (said, *call_texts(message, counts_tool)):
            if text:
                yield text[:left]
                left -= len(text)
            if left <= 0:
                return
