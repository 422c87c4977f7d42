"""One conversation with a model: what every integration translates into the words of its framework."""

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from weakref import WeakKeyDictionary

from skillkit.core.authority import Requester, asking_for
from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata
from skillkit.disclosure import Disclosure, SkillContextProvider, SkillSession, Tool
from skillkit.disclosure.fence import attribute, fenced, nonce_for
from skillkit.disclosure.messages import Messages
from skillkit.disclosure.tools import accept
from skillkit.scripts import ScriptTools
from skillkit.scripts.catalogue import find_scripts
from skillkit.toolsets import ActiveToolsets, ToolsetLoader

Skills = SkillManager | SkillContextProvider
"""What an integration is made from; of a manager it makes the default provider."""

Arguments = Mapping[str, object] | str | None
"""Of a tool call: an object, or the JSON text that the model wrote."""

Approve = Callable[[str, Mapping[str, object]], bool | Awaitable[bool]]
"""Asks the user whether a tool may be called with these arguments."""

NEED_APPROVAL = frozenset({"script_run"})
"""Tools that act on the world: a framework asks the user before it calls them."""

_READING = frozenset({"load_skill", "read_skill_resource", "search_skills"})
_AT_ONCE = 2

Answer = TypeVar("Answer")


class Conversation:
    """A provider, the session of one conversation, and who approves what its tools do.

    `approve` is for frameworks that have no way of their own to ask the user; without it, a tool that
    needs approval is refused. `requester` is on whose behalf the manager's authority is asked.
    """

    def __init__(
        self,
        skills: Skills,
        session: SkillSession | None = None,
        *,
        approve: Approve | None = None,
        need_approval: Collection[str] = NEED_APPROVAL,
        requester: Requester | None = None,
    ) -> None:
        self.requester = requester
        self.provider = skills if isinstance(skills, SkillContextProvider) else default_provider(skills)
        self.session = SkillSession() if session is None else session
        self.need_approval = frozenset(need_approval)
        self._approve = approve

    def disclose(self, messages: Messages = (), *, whole_history: bool = False) -> Disclosure:
        """What to add to the request that `messages` make: instructions and tools."""
        with asking_for(self.requester):
            return self.provider.disclose(messages, self.session, whole_history=whole_history)

    async def adisclose(self, messages: Messages = (), *, whole_history: bool = False) -> Disclosure:
        """`disclose` without blocking the event loop."""
        async with _few_at_once():
            with asking_for(self.requester):
                return await self.provider.before_request(messages, self.session, whole_history=whole_history)

    def tools(self) -> tuple[Tool, ...]:
        """The neutral tools as they are at this moment."""
        with asking_for(self.requester):
            return self.provider.tools(self.session)

    async def atools(self) -> tuple[Tool, ...]:
        """`tools` without blocking the event loop."""
        async with _few_at_once():
            return await asyncio.to_thread(self.tools)

    async def call(self, name: str, arguments: Arguments = None, *, approved: bool = False) -> str:
        """What a tool answers, as text for the model; everything that goes wrong is an answer too.

        `approved` says that the framework has asked the user already.
        """
        with asking_for(self.requester):
            return await self._call(name, arguments, approved)

    async def _call(self, name: str, arguments: Arguments, approved: bool) -> str:
        tool = next((tool for tool in await self.atools() if tool.name == name), None)
        if tool is None:
            return result_text(name, _failure("not_found", f"There is no tool {name[:80]!r}"))
        given = _parsed(arguments)
        accepted = accept(given, tool.parameters)
        if isinstance(accepted, str) or not isinstance(given, Mapping):
            return result_text(name, _failure("invalid_arguments", f"{name}: {accepted}"))
        if name in self.need_approval and not approved and (refused := await self._ask(name, accepted)):
            return result_text(name, refused)
        if name not in _READING:
            return result_text(name, await tool.call(given))
        async with _few_at_once():
            return result_text(name, await tool.call(given))

    def call_blocking(self, name: str, arguments: Arguments = None, *, approved: bool = False) -> str:
        """`call` for frameworks that are not asynchronous."""
        return run_blocking(self.call(name, arguments, approved=approved))

    async def _ask(self, name: str, arguments: Mapping[str, object]) -> dict[str, object] | None:
        if self._approve is None:
            return _failure(
                "permission_denied",
                f"{name} needs the user's approval and nobody can be asked; "
                "the program has to pass `approve`",
            )
        answer = self._approve(name, arguments)
        approved = await answer if inspect.isawaitable(answer) else answer
        return None if approved is True else refusal(name)


class ScriptSource:
    """The script tools, for conversations that have a script to use them on."""

    def __init__(self, scripts: ScriptTools, manager: SkillManager) -> None:
        self.scripts = scripts
        self.manager = manager
        self._having: tuple[int, tuple[SkillMetadata, ...]] = (-1, ())

    def tools(self, session: SkillSession) -> tuple[Tool, ...]:
        generation, having = self._having
        if generation != self.manager.generation:
            generation = self.manager.generation
            having = tuple(skill for skill in self.manager.list_skills() if find_scripts(skill))
            self._having = (generation, having)
        usable = any(self.manager.refusal(skill) is None for skill in having)
        return self.scripts.tools() if usable else ()


def default_provider(manager: SkillManager, scripts: ScriptTools | None = None) -> SkillContextProvider:
    """Everything that skillkit discloses: catalogue, skills, scripts in the sandbox, and the toolsets of
    active skills; the manager's authority decides which.

    All conversations of a manager share one provider, and with it the index, unless they differ in scripts.
    """
    if scripts is None:
        return manager.companion("provider", lambda: _provider(manager, ScriptTools(manager)))
    return _provider(manager, scripts)


def _provider(manager: SkillManager, scripts: ScriptTools) -> SkillContextProvider:
    toolsets = ActiveToolsets(ToolsetLoader(manager))
    return SkillContextProvider(manager, tool_sources=[ScriptSource(scripts, manager), toolsets])


def _few_at_once() -> asyncio.Semaphore:
    """Lets in two of the pieces of work that compute in threads: more would not be done sooner, but take
    turns with the event loop and make every conversation wait."""
    loop = asyncio.get_running_loop()
    gate = _gates.get(loop)
    if gate is None:
        gate = _gates[loop] = asyncio.Semaphore(_AT_ONCE)
    return gate


_gates: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


def refusal(name: str) -> dict[str, object]:
    """The answer to a call that the user did not want."""
    return _failure("permission_denied", f"The user did not approve {name}")


def result_text(name: str, result: object) -> str:
    """What a tool answered, as a model may read it: data is fenced, because it is somebody else's."""
    if isinstance(result, str):
        return result
    text = json.dumps(result, ensure_ascii=False, default=str)
    return f'<skill_output tool="{attribute(name)}">\n{fenced(text, nonce_for(text))}\n</skill_output>'


def run_blocking(coroutine: Coroutine[object, object, Answer]) -> Answer:
    """The answer of `coroutine`, also where an event loop is running already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="skillkit-blocking") as thread:
        return thread.submit(asyncio.run, coroutine).result()


def _failure(code: str, message: str) -> dict[str, object]:
    return {"success": False, "error": code, "message": message}


def _parsed(arguments: Arguments) -> object:
    if not isinstance(arguments, str):
        return {} if arguments is None else arguments
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments
