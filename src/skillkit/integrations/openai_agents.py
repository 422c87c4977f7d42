"""Skills for the OpenAI Agents SDK: an agent that has them, for any number of conversations."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from inspect import isawaitable
from typing import Any, cast

from skillkit.core.extras import pip_install

try:
    from agents import (
        Agent,
        FunctionTool,
        Model,
        ModelSettings,
        RunConfig,
        RunContextWrapper,
        Runner,
        RunResult,
        RunResultStreaming,
        RunState,
        SpanError,
        TContext,
        TResponseInputItem,
        get_current_span,
    )
    from agents.run_config import CallModelData, CallModelInputFilter, ModelInputData
    from agents.tool import Tool as SdkTool
    from agents.tool import (
        ToolOutputFileContent,
        ToolOutputImage,
        ToolOutputText,
        ValidToolOutputPydanticModels,
    )
    from agents.tool_context import ToolContext
    from openai.types.shared import Reasoning, ReasoningEffort
except ImportError as error:
    raise ImportError(
        f"The OpenAI Agents integration needs openai-agents: {pip_install('openai-agents')}"
    ) from error

from skillkit.disclosure import Disclosure, Insertion, Tool, with_insertions
from skillkit.disclosure.tool_result import ShownFile
from skillkit.integrations.conversation import Conversation, Fork, ForkedSkill
from skillkit.integrations.default_tools import Skills

__all__ = ["SkillAgent", "add_skills", "skill_input_filter"]

Input = str | list[TResponseInputItem] | RunState[Any]

_KEPT_BY_SERVICE = ("conversation_id", "previous_response_id", "auto_previous_response_id")
"""Arguments of a run that say that the service keeps the messages."""

ConversationOf = Callable[[Any], Conversation]
"""Returns the conversation that a run belongs to, by the context of the run."""


def skill_input_filter(
    conversation: Conversation | ConversationOf, *, elsewhere: bool = False
) -> CallModelInputFilter:
    """`call_model_input_filter` for a RunConfig: puts the texts of skills among the messages of each request.

    `conversation` is what the agent has. `elsewhere` says that the service keeps the conversation
    (`conversation_id`, `previous_response_id`).
    """

    async def extend(data: CallModelData[Any]) -> ModelInputData:
        items, talk = data.model_data.input, _conversation(conversation, data.context)
        disclosed = talk.take_disclosed()
        if disclosed is not None and disclosed.everything and not talk.among_messages:
            prompt = data.model_data.instructions or ""
            data.model_data.instructions = prompt.replace(disclosed.everything, disclosed.instructions)
        talk.among_messages = True
        insertions = await talk.insertions(items, disclosed.note if disclosed else "", elsewhere=elsewhere)
        data.model_data.input = with_insertions(items, insertions, _as_item)
        return data.model_data

    if isinstance(conversation, Conversation):  # one of a run's own is marked by its first request
        conversation.among_messages = True
    return extend


@dataclass
class SkillAgent(Agent[TContext]):
    """An agent with skills; its tools follow the skills as they become active.

    `skills` are folders, a manager or a provider, for one conversation. In its place, `conversation` is the
    only one that the agent has, or a function that returns that of a run by the run's context.

    `run`, `run_sync` and `run_streamed` are the Runner's, with the texts of skills among the messages, so
    that the prompt is the same in every request. A program that calls `Runner` itself does the same with
    `RunConfig(call_model_input_filter=skill_input_filter(conversation))`.

    A skill with `context: fork` runs as a separate agent, with the model that `skill_models` names for
    the skill's `model`, and its `effort` where `takes_effort` says that the model knows what that is; what
    needs approval in it is asked about by the `approve` of the conversation.
    """

    conversation: Conversation | ConversationOf | None = None
    skill_models: Mapping[str, str | Model] = field(default_factory=dict)
    takes_effort: bool = False
    skills: Skills | None = None

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[no-untyped-call]
        if self.conversation is None and self.skills is not None:
            self.conversation = Conversation(self.skills)

    async def run(self, input: Input, **options: Any) -> RunResult:
        """`Runner.run` of this agent; `options` are its other arguments."""
        return await Runner.run(self, input, **self._options(options))

    def run_sync(self, input: Input, **options: Any) -> RunResult:
        """`Runner.run_sync` of this agent."""
        return Runner.run_sync(self, input, **self._options(options))

    def run_streamed(self, input: Input, **options: Any) -> RunResultStreaming:
        """`Runner.run_streamed` of this agent."""
        return Runner.run_streamed(self, input, **self._options(options))

    def _options(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the options of a run, with its own input filter before ours."""
        if self.conversation is None:
            return options
        given = options.get("run_config") or RunConfig()
        config = RunConfig(**given) if isinstance(given, dict) else given
        elsewhere = any(map(options.get, _KEPT_BY_SERVICE))
        ours = skill_input_filter(self.conversation, elsewhere=elsewhere)

        async def both(data: CallModelData[Any]) -> ModelInputData:
            for each in filter(None, (config.call_model_input_filter, ours)):
                filtered = each(data)
                data.model_data = await filtered if isawaitable(filtered) else filtered
            return data.model_data

        return {**options, "run_config": replace(config, call_model_input_filter=both)}

    async def get_system_prompt(self, run_context: RunContextWrapper[TContext]) -> str | None:
        prompt = await super().get_system_prompt(run_context)
        if self.conversation is None:
            return prompt
        conversation = self._conversation(self.conversation, run_context)
        disclosure = await _disclosed(conversation, run_context)
        text = disclosure.instructions if conversation.among_messages else disclosure.everything
        return "\n\n".join(part for part in (prompt, text) if part)

    async def get_all_tools(self, run_context: RunContextWrapper[TContext]) -> list[SdkTool]:
        tools = await super().get_all_tools(run_context)
        if self.conversation is None:
            return tools
        conversation = self._conversation(self.conversation, run_context)
        # The SDK asks for the tools before the prompt, and matched skills add tools.
        disclosure = await _disclosed(conversation, run_context)
        ours = (_function_tool(conversation, tool) for tool in disclosure.tools)
        return [*conversation.gated(tools, asking=_asking), *ours]

    def _conversation(
        self, given: Conversation | ConversationOf, context: RunContextWrapper[TContext]
    ) -> Conversation:
        conversation = _conversation(given, context.context)
        conversation.fork = conversation.fork or self._fork(context)
        return conversation

    def _fork(self, context: RunContextWrapper[TContext]) -> Fork:
        async def run(forked: ForkedSkill) -> str:
            choice, within = forked.choice, forked.conversation
            settings = self.model_settings
            if choice.effort is not None and self.takes_effort:
                effort = cast("ReasoningEffort", "xhigh" if choice.effort == "max" else choice.effort)
                settings = settings.resolve(ModelSettings(reasoning=Reasoning(effort=effort)))
            beside = SkillAgent[TContext](
                name=within.session.fork_of,
                instructions=self.instructions,
                model=self.skill_models.get(choice.model or "", self.model),
                model_settings=settings,
                tools=[] if forked.reads_only else list(self.tools),
                mcp_servers=[] if forked.reads_only else self.mcp_servers,
                conversation=within,
            )
            result = await beside.run(forked.request, context=context.context)
            context.usage.add(result.context_wrapper.usage)
            return str(result.final_output)

        return run


def add_skills(agent: Agent[TContext], conversation: Conversation | ConversationOf) -> SkillAgent[TContext]:
    """Return a SkillAgent with all settings of `agent`."""
    own = {each.name: getattr(agent, each.name) for each in fields(agent)}
    return SkillAgent(**{**own, "conversation": conversation})


def _conversation(given: Conversation | ConversationOf, context: object) -> Conversation:
    return given if isinstance(given, Conversation) else given(context)


async def _disclosed(conversation: Conversation, context: RunContextWrapper[Any]) -> Disclosure:
    """Disclose for a request; the SDK passes all messages only in the first request of a run."""
    seen, requests = context.turn_input, context.usage.requests
    return await conversation.adisclose_once(
        (context, requests),
        seen,
        whole_history=bool(seen) and requests == 0 and not conversation.among_messages,
        elsewhere=conversation.among_messages,
    )


def _asking(tool: SdkTool) -> SdkTool | None:
    """Return one of the agent's own tools with approval; None for a hosted tool, which cannot ask."""
    return replace(tool, needs_approval=True) if isinstance(tool, FunctionTool) else None


def _as_item(insertion: Insertion) -> TResponseInputItem:
    return {"role": "user", "content": insertion.text}


def _function_tool(conversation: Conversation, tool: Tool) -> FunctionTool:
    async def invoke(context: ToolContext[Any], arguments: str) -> str | list[ValidToolOutputPydanticModels]:
        # If the SDK asks for approval, it has done so before this call.
        result = await conversation.call(tool.name, arguments, approved=True)
        if result.failed and (span := get_current_span()) is not None:
            # Its messages have no flag for a failure; the span of the call records it.
            span.set_error(SpanError(message="The tool failed", data={"tool": tool.name}))
        if not result.shown:
            return result.text
        return [ToolOutputText(text=result.text), *map(_output, result.shown)]

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=dict(tool.parameters),
        on_invoke_tool=invoke,
        strict_json_schema=False,
        needs_approval=tool.asks,
    )


def _output(file: ShownFile) -> ToolOutputImage | ToolOutputFileContent:
    if file.is_picture:
        return ToolOutputImage(image_url=file.data_url)
    return ToolOutputFileContent(file_data=file.data_url, filename=file.name)
