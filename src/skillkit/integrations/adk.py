"""Skills for Google's Agent Development Kit: a toolset, and a registry for its own."""

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from skillkit.core.extras import pip_install

try:
    from google.adk.agents import LlmAgent
    from google.adk.agents.readonly_context import ReadonlyContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.runners import InMemoryRunner
    from google.adk.skills import Frontmatter, Resources, Script, SkillRegistry
    from google.adk.skills import Skill as AdkSkill
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.base_toolset import BaseToolset
    from google.adk.tools.tool_context import ToolContext
    from google.genai import types
except ImportError as error:
    raise ImportError(f"The ADK integration needs google-adk: {pip_install('adk')}") from error

from skillkit.core.authority import Requester
from skillkit.core.models import SkillMetadata
from skillkit.core.text import one_line
from skillkit.disclosure import Disclosure, Insertion, SkillSession, Tool, with_insertions
from skillkit.disclosure.catalogue import skill_id
from skillkit.disclosure.tool_gate import Admission
from skillkit.disclosure.tool_sources import Approve, Asks
from skillkit.integrations.conversation import Conversation, Fork, ForkedSkill
from skillkit.integrations.default_tools import Skills, default_provider
from skillkit.scripts.catalogue import find_scripts

__all__ = ["SkillKitRegistry", "SkillsToolset"]

STATE = "skillkit_session"
_MAX_TALKS = 10_000
_REJECTED = "The user did not approve this call."
_PENDING = "This call needs the user's approval."


class SkillsToolset(BaseToolset):
    """The skills of all sessions of an agent: `LlmAgent(…, tools=[SkillsToolset(manager)])`.

    The session is kept in the state of ADK's session. The authority is asked on behalf of the agent, the
    session and the user. Calls that act on the world ask by ADK's tool confirmation, and files that scripts
    make are artifacts. An agent with a gate has this toolset as the last of its tools, and `before_tool` as
    its `before_tool_callback`. A skill with `context: fork` runs as a separate agent with the model of
    this one; in it, what needs approval needs `approve`.
    """

    def __init__(self, skills: Skills, *, asks: Asks | None = None, approve: Approve | None = None) -> None:
        super().__init__()
        self.provider = default_provider(skills)
        self.asks = asks
        self.approve = approve
        self._talks: OrderedDict[tuple[str, str], Conversation] = OrderedDict()

    def conversation(self, context: ReadonlyContext) -> Conversation:
        """Return the conversation that a run belongs to."""
        key = (context.user_id, context.session.id)
        talk = self._talks.get(key)
        if talk is None:
            saved = context.state.get(STATE)
            session = SkillSession.from_data(saved) if saved else SkillSession()
            requester = Requester(context.agent_name, context.session.id, context.user_id)
            talk = Conversation(
                self.provider, session, asks=self.asks, approve=self.approve, requester=requester
            )
            talk.session.starts_forks = True  # its parent agent is known when it is called
            self._talks[key] = talk
            while len(self._talks) > _MAX_TALKS:
                self._talks.popitem(last=False)
        return talk

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        if readonly_context is None:
            return []
        said = [event.content for event in readonly_context.session.events if event.content is not None]
        disclosure = await self._disclosed(readonly_context, said)
        return self._tools(disclosure)

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        talk = self.conversation(tool_context)
        disclosure = await self._disclosed(tool_context, llm_request.contents)
        insertions = await talk.insertions(neutral_messages(llm_request.contents), talk.disclosed_note())
        if disclosure.instructions:
            llm_request.append_instructions([disclosure.instructions])
        llm_request.contents = with_insertions(llm_request.contents, insertions, _as_content)
        if self.provider.gate is not None:
            own = [name for name in llm_request.tools_dict if talk.tool(name) is None]
            _hide(llm_request, set(own) - set(talk.gated(own, str)))
        # ADK asks for the tools once a run; a loaded skill adds its own within that run.
        llm_request.append_tools(self._tools(disclosure))

    async def before_tool(
        self, tool: BaseTool, args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Apply the gate of the active skills to one of the agent's own tools."""
        if isinstance(tool, _SkillTool):
            return None
        talk = self.conversation(tool_context)
        refused = await talk.refuse(tool.name, args, approved=True)
        if refused is not None:
            return {"error": refused.text}
        asks = talk.admit(tool.name) is Admission.ASKS and not talk.asks_in_place
        return _unconfirmed(tool.name, tool_context) if asks else None

    def _tools(self, disclosure: Disclosure) -> "list[BaseTool]":
        return [_SkillTool(self, tool) for tool in disclosure.tools]

    async def _disclosed(self, context: ReadonlyContext, contents: "Sequence[types.Content]") -> Disclosure:
        request = (context.invocation_id, len(context.session.events))
        return await self.conversation(context).adisclose_once(
            request, neutral_messages(contents), elsewhere=True
        )


class _ForkedToolset(SkillsToolset):
    """The one conversation of a forked skill."""

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation.provider)
        self._conversation = conversation

    def conversation(self, context: ReadonlyContext) -> Conversation:
        return self._conversation


def _fork_beside(agent: object, user: str) -> Fork | None:
    """Return a function that runs a skill as a separate agent; None if `agent` has no model."""
    if not isinstance(agent, LlmAgent):
        return None

    async def run(forked: ForkedSkill) -> str:
        within = _ForkedToolset(forked.conversation)
        others = [tool for tool in agent.tools if not isinstance(tool, SkillsToolset)]
        beside = LlmAgent(
            name=f"skill_{forked.conversation.session.id}".replace("-", "_"),
            model=agent.canonical_model,
            instruction=agent.instruction,
            generate_content_config=agent.generate_content_config,
            tools=[within] if forked.reads_only else [*others, within],
            before_tool_callback=within.before_tool,
        )
        runner = InMemoryRunner(agent=beside, app_name="skillkit")
        session = await runner.session_service.create_session(app_name="skillkit", user_id=user)
        message = types.Content(role="user", parts=[types.Part(text=forked.request)])
        text = ""
        async for event in runner.run_async(user_id=user, session_id=session.id, new_message=message):
            if event.is_final_response() and event.content is not None:
                text = "".join(part.text or "" for part in event.content.parts or ())
        return text

    return run


class _SkillTool(BaseTool):
    """A neutral tool whose session changes are written into ADK's state."""

    def __init__(self, toolset: SkillsToolset, tool: Tool) -> None:
        super().__init__(name=tool.name, description=tool.description)
        self._toolset = toolset
        self._tool = tool

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters_json_schema=dict(self._tool.parameters),
        )

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        """Do nothing: the toolset has added the tools as they are now."""

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any]:
        if self._tool.asks and (unconfirmed := _unconfirmed(self.name, tool_context)):
            return unconfirmed
        talk = self._toolset.conversation(tool_context)
        talk.fork = _fork_beside(tool_context.get_invocation_context().agent, tool_context.user_id)
        result = await talk.call(self.name, args, approved=True)
        tool_context.state[STATE] = talk.session.to_data()
        for file in result.files:
            await _save(tool_context, file)
        return {"error" if result.failed else "result": result.text}


def _hide(request: LlmRequest, names: Collection[str]) -> None:
    """Hide tools from the model."""
    for tool in request.config.tools or ():
        if isinstance(tool, types.Tool) and (declared := tool.function_declarations):
            tool.function_declarations = [each for each in declared if each.name not in names]


def _unconfirmed(tool: str, context: ToolContext) -> dict[str, Any] | None:
    """Return the result instead of a call; None if the user has confirmed it."""
    confirmation = context.tool_confirmation
    if confirmation is not None:
        return None if confirmation.confirmed else {"error": _REJECTED}
    context.request_confirmation(hint=f"Approve or reject the call of {tool}.")
    context.actions.skip_summarization = True
    return {"error": _PENDING}


async def _save(context: ToolContext, file: Mapping[str, object]) -> None:
    """Save a file that a script made with ADK's artifact service, if there is one."""
    media_type = str(file["media_type"])
    content = await asyncio.to_thread(Path(str(file["path"])).read_bytes)
    part = types.Part.from_bytes(data=content, mime_type=media_type)
    if context.get_invocation_context().artifact_service is not None:
        await context.save_artifact(str(file["name"]), part)


def neutral_messages(contents: "Sequence[types.Content]") -> list[Mapping[str, object]]:
    """Convert the contents to neutral messages, one for each content."""
    return [_neutral(content) for content in contents]


def _neutral(content: types.Content) -> Mapping[str, object]:
    parts = content.parts or []
    answers = [str(part.function_response.response) for part in parts if part.function_response is not None]
    said = [part.text for part in parts if part.text]
    if content.role == "model":
        return {"role": "assistant", "content": "\n".join(said)}
    if answers:
        results = [{"type": "tool_result", "text": answer} for answer in answers]
        return {"role": "tool", "content": results}
    return {"role": "user", "content": "\n".join(said)}


def _as_content(insertion: Insertion) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=insertion.text)])


class SkillKitRegistry(SkillRegistry):
    """The catalogue of a manager for ADK's own `SkillToolset(registry=…)`."""

    def __init__(self, skills: Skills) -> None:
        self.provider = default_provider(skills)
        self.manager = self.provider.manager

    async def get_skill(self, *, name: str) -> AdkSkill:
        skill = self.provider.get_skill(name)
        if skill is None or self.manager.refusal(skill) is not None:
            raise ValueError(f"There is no skill '{name}'")
        identity = skill_id(skill)
        instructions = await self.manager.ainvoke_skill(identity)
        scripts = {script.relative_path.removeprefix("scripts/"): script for script in find_scripts(skill)}
        references: dict[str, str | bytes] = {}
        assets: dict[str, str | bytes] = {}
        for resource in await self.manager.alist_resources(identity):
            folder, _, inner = resource.path.partition("/")
            content = (skill.base_dir / resource.path).read_bytes()
            if folder == "references" and inner:
                references[inner] = _text(content)
            elif folder != "scripts":
                assets[inner if folder == "assets" and inner else resource.path] = _text(content)
        return AdkSkill(
            frontmatter=_frontmatter(skill),
            instructions=instructions,
            resources=Resources(
                references=references,
                assets=assets,
                scripts={
                    name: Script(src=script.path.read_text("utf-8")) for name, script in scripts.items()
                },
            ),
        )

    async def search_skills(self, *, query: str) -> list[Frontmatter]:
        found = self.provider.near(query)
        return [_frontmatter(match.skill) for match in found]


def _frontmatter(skill: SkillMetadata) -> Frontmatter:
    return Frontmatter(name=skill_id(skill), description=one_line(skill.description)[:1024])


def _text(content: bytes) -> str | bytes:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content
