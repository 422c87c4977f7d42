"""The MCP server: tools, resources, prompts and the Skills extension over one manager."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import MethodBinding
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.session import ServerSession
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

from skillkit._version import __version__
from skillkit.core.authority import Requester, asking_for
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.manager import Changes, SkillManager
from skillkit.core.models import SkillMetadata
from skillkit.core.text import one_line
from skillkit.disclosure import SkillContextProvider, SkillRefusedError, SkillSession
from skillkit.disclosure.activator import Activator
from skillkit.disclosure.session import Origin
from skillkit.disclosure.tools import Effect, Tool, named_skill
from skillkit.integrations.conversation import Conversation
from skillkit.integrations.default_tools import Paths, default_provider, manager_of
from skillkit.integrations.mcp.published import (
    INDEX_URI,
    PublishedSkills,
    ResourceContents,
    made_content,
    read_made_file,
    skill_uri,
    unknown,
)
from skillkit.scripts import ScriptTools
from skillkit.scripts.outputs import SCHEME

EXTENSION = "io.modelcontextprotocol/skills"
SETTINGS = {"directoryRead": True}
PAGE = 50
PICTURES = ("image/*",)
"""What scripts make and clients get with the answer; the rest they read by its link."""
_CURSOR_DIGITS = 9
_KEPT: dict[str, Any] = {"ttl_ms": 60_000, "cache_scope": "private"}
_KEPT_IN_JSON = {"ttlMs": 60_000, "cacheScope": "private"}
"""How long a client may go on with an answer, which is for it alone."""
CLIENT_SCOPE_KEY = "skillkit.client"
"""Where the HTTP guard leaves the name of the client that a token belongs to."""

_INTRODUCTIONS = frozenset({"initialize", "server/discover"})

Context = ServerRequestContext[Any, Any]
Item = TypeVar("Item")


class GetSkillParams(types.RequestParams):
    """Parameters of `skills/get`."""

    uri: str


class ReadDirectoryParams(types.PaginatedRequestParams):
    """Parameters of `resources/directory/read`."""

    uri: str


class SkillServer:
    """Serves the skills of a manager or of folders; stateless, so that several servers can share the load.

    `scripts` offers the script tools too: MCP leaves it to the client to ask the user before a call, so
    they are offered only if the server was started with them.
    """

    def __init__(
        self,
        manager: SkillManager | Paths,
        *,
        scripts: bool | ScriptTools = False,
        watch: bool = False,
        name: str = "skillkit",
    ) -> None:
        manager = manager_of(manager)
        manager.ensure_discovered()
        self.manager = manager
        self.watch = watch
        self._scripts = (
            (scripts if isinstance(scripts, ScriptTools) else ScriptTools(manager)) if scripts else None
        )
        self._providers: dict[str, SkillContextProvider] = {}
        self._published = PublishedSkills(manager)
        self._activator = Activator(manager)
        self._lasting: ServerSession | None = None
        self.bus = InMemorySubscriptionBus()
        self.server: Server[Any] = Server(
            name,
            version=__version__,
            title="Agent Skills",
            lifespan=self._lifespan,
            get_tool_input_schema=lambda _: None,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_subscriptions_listen=ListenHandler(self.bus),
        )
        for method in (
            MethodBinding("skills/list", types.PaginatedRequestParams, self._list_skills),
            MethodBinding("skills/get", GetSkillParams, self._get_skill),
            MethodBinding("resources/directory/read", ReadDirectoryParams, self._read_directory),
        ):
            self.server.add_request_handler(method.method, method.params_type, method.handler)
        self.server.extensions[EXTENSION] = SETTINGS
        self.server.middleware.append(self._for_client)

    # Running

    async def run_stdio(self) -> None:
        """Serve one client on standard input and output."""
        options = self.server.create_initialization_options(NotificationOptions(True, True, True))
        async with stdio_server() as (read, write):
            await self.server.run(read, write, options)

    @asynccontextmanager
    async def _lifespan(self, _: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        if not self.watch:
            yield {}
            return
        loop = asyncio.get_running_loop()

        def changed(_: Changes) -> None:
            asyncio.run_coroutine_threadsafe(self.announce(), loop)

        watcher = await asyncio.to_thread(self.manager.watch, changed)
        try:
            yield {}
        finally:
            await asyncio.to_thread(watcher.stop)

    async def announce(self) -> None:
        """Notify every listening client that skills have changed."""
        for event in (ToolsListChanged(), ResourcesListChanged(), PromptsListChanged()):
            await self.bus.publish(event)
        if self._lasting is not None:
            await self._lasting.send_tool_list_changed()
            await self._lasting.send_resource_list_changed()
            await self._lasting.send_prompt_list_changed()

    async def _for_client(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Handle the request on behalf of the client; its current catalogue is part of the server's
        instructions."""
        if ctx.method not in _INTRODUCTIONS:
            with asking_for(self._requester(ctx)):
                return await call_next(ctx)
        result = await call_next(ctx)
        with asking_for(self._requester(ctx)):
            provider = self._provider(self._client(ctx))
            catalogue = await asyncio.to_thread(provider.catalogue, SkillSession())
        if result is None:
            return None
        told = result if isinstance(result, dict) else result.model_dump(by_alias=True, exclude_none=True)
        if catalogue:
            told = {**told, "instructions": catalogue}
        if ctx.method == "initialize":
            # The older protocol has no field for extensions; its clients look in one of these two.
            known = {"extensions": {EXTENSION: SETTINGS}, "experimental": {EXTENSION: SETTINGS}}
            told = {**told, "capabilities": {**told.get("capabilities", {}), **known}}
        return told

    # Tools

    async def _list_tools(self, context: Context, params: types.PaginatedRequestParams | None) -> Any:
        tools = await self._conversation(context).atools()
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name,
                    description=tool.description,
                    input_schema=dict(tool.parameters),
                    annotations=_hints(tool),
                )
                for tool in tools
            ],
            **_KEPT,
        )

    async def _call_tool(self, context: Context, params: types.CallToolRequestParams) -> Any:
        conversation = self._conversation(context)
        result = await conversation.call(params.name, params.arguments or {}, approved=True)
        text = self._shown(result.text, named_skill(params.arguments or {}), context)
        content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
        return types.CallToolResult(content=[*content, *made_content(result)], is_error=result.failed)

    def _shown(self, text: str, named: str, context: Context) -> str:
        """Return text as the client may see it: without paths of this machine if it is remote."""
        if not _is_remote(context):
            return text
        skill = self.manager.find_skill(named)
        if self._scripts is not None:
            text = text.replace(f"{self._scripts.outputs.folder}/", SCHEME)
        return self._published.without_paths(text, skill)

    # Resources

    async def _list_resources(self, context: Context, params: types.PaginatedRequestParams | None) -> Any:
        skills = await asyncio.to_thread(self.manager.offered_skills)
        page, following = _page(skills, params)
        resources = [
            types.Resource(
                uri=skill_uri(skill),
                name=skill.name,
                description=one_line(skill.description),
                mime_type="text/markdown",
            )
            for skill in page
        ]
        if following is None:
            resources.append(types.Resource(uri=INDEX_URI, name="index.json", mime_type="application/json"))
        return types.ListResourcesResult(resources=resources, next_cursor=following, **_KEPT)

    async def _list_templates(self, context: Context, params: types.PaginatedRequestParams | None) -> Any:
        template = types.ResourceTemplate(
            uri_template="skill://{name}/{+path}", name="skill file", description="A file of a skill"
        )
        return types.ListResourceTemplatesResult(resource_templates=[template], **_KEPT)

    async def _read_resource(self, context: Context, params: types.ReadResourceRequestParams) -> Any:
        content = await asyncio.to_thread(self._content, str(params.uri), remote=_is_remote(context))
        return types.ReadResourceResult(contents=[content], **_KEPT)

    def _content(self, uri: str, *, remote: bool) -> ResourceContents:
        if not uri.startswith(SCHEME) or self._scripts is None:
            return self._published.content(uri, remote=remote)
        try:
            return read_made_file(self._scripts.outputs, uri)
        except (SkillsUseError, OSError) as error:
            raise unknown(uri) from error

    # Prompts

    async def _list_prompts(self, context: Context, params: types.PaginatedRequestParams | None) -> Any:
        skills = await asyncio.to_thread(self._invocable)
        page, following = _page(skills, params)
        prompts = [
            types.Prompt(
                name=skill.canonical_name,
                description=one_line(skill.description),
                arguments=[
                    types.PromptArgument(
                        name="arguments",
                        description=skill.argument_hint or "Input for the skill",
                        required=False,
                    )
                ],
            )
            for skill in page
        ]
        return types.ListPromptsResult(prompts=prompts, next_cursor=following, **_KEPT)

    async def _get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> Any:
        arguments = (params.arguments or {}).get("arguments", "")
        try:
            delivery = await asyncio.to_thread(
                self._activator.deliver,
                params.name,
                arguments,
                SkillSession(),
                Origin.INVOKED,
                by_user=True,
            )
        except SkillRefusedError as refused:
            said = self._shown(f"{refused.code}: {refused}", params.name, context)
            raise MCPError(types.INVALID_PARAMS, said) from refused
        content = types.TextContent(type="text", text=self._shown(delivery.text, params.name, context))
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])

    def _invocable(self) -> list[SkillMetadata]:
        return [
            skill
            for skill in self.manager.list_skills()
            if skill.user_invocable and self.manager.refusal(skill) is None
        ]

    # The Skills extension

    async def _list_skills(self, context: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        skills = await asyncio.to_thread(self.manager.offered_skills)
        page, following = _page(skills, params)
        entries = await asyncio.to_thread(self._published.entries, page)
        return {"resultType": "complete", "skills": entries, **_next(following), **_KEPT_IN_JSON}

    async def _get_skill(self, context: Context, params: GetSkillParams) -> dict[str, Any]:
        entry = await asyncio.to_thread(self._published.entry, params.uri)
        return {"resultType": "complete", "skill": entry, **_KEPT_IN_JSON}

    async def _read_directory(self, context: Context, params: ReadDirectoryParams) -> dict[str, Any]:
        children = await asyncio.to_thread(self._published.children, params.uri)
        page, following = _page(children, params)
        return {"resultType": "complete", "resources": page, **_next(following)}

    # Clients

    def _requester(self, context: Context) -> Requester:
        return Requester(program="mcp", tenant=self._client(context))

    def _client(self, context: Context) -> str:
        """Return the client's name by its token, else the name it declares, which is not verified."""
        if context.request is None and context.protocol_version < "2026":
            # The older protocol pushes notifications over a persistent connection.
            self._lasting = context.session
        scope = getattr(context.request, "scope", None)
        if isinstance(scope, dict) and scope.get(CLIENT_SCOPE_KEY):
            return str(scope[CLIENT_SCOPE_KEY])
        if (known := context.session.client_params) is not None:
            return known.client_info.name
        introduced = (context.params or {}).get("clientInfo")
        return str(introduced.get("name", "")) if isinstance(introduced, dict) else ""

    def _conversation(self, context: Context) -> Conversation:
        # A connection is not a conversation: what one was shown must not be withheld from another.
        return Conversation(self._provider(self._client(context)), SkillSession())

    def _provider(self, client: str) -> SkillContextProvider:
        provider = self._providers.get(client)
        if provider is None:
            provider = (
                SkillContextProvider(self.manager)
                if self._scripts is None
                else default_provider(self.manager, self._scripts)
            )
            provider.shown_files = PICTURES
            if len(self._providers) < 1000:
                self._providers[client] = provider
        return provider


def _next(cursor: str | None) -> dict[str, str]:
    return {} if cursor is None else {"nextCursor": cursor}


def _is_remote(context: Context) -> bool:
    """Return whether a request came over HTTP, so that the client may be on another machine."""
    return context.request is not None


def _hints(tool: Tool) -> types.ToolAnnotations:
    reads = tool.effect is Effect.READS
    return types.ToolAnnotations(
        read_only_hint=reads, destructive_hint=not reads, idempotent_hint=reads, open_world_hint=not reads
    )


def _page(
    items: Sequence[Item], params: types.PaginatedRequestParams | None
) -> tuple[Sequence[Item], str | None]:
    cursor = params.cursor if params is not None else None
    if cursor is not None and not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= _CURSOR_DIGITS):
        raise MCPError(types.INVALID_PARAMS, f"There is no page {cursor[:40]!r}")
    start = int(cursor or 0)
    following = start + PAGE
    return items[start:following], str(following) if following < len(items) else None
