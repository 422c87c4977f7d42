"""The embedded model as a chat client of Agent Framework."""

import asyncio
import json
import secrets
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, ClassVar

from agent_framework import (
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    UsageDetails,
)
from agent_framework.observability import ChatTelemetryLayer

from skillkit.agent.models.chat_requests import (
    disclosed,
    final_result,
    is_repeated,
    last_call,
    with_skills_in_instructions,
)
from skillkit.agent.models.constrained import (
    ALL_SKILLS,
    About,
    Answer,
    AnswerStream,
    Call,
    Echo,
    Question,
    Repeated,
    ToolSpec,
    parse,
    reply_schema,
)
from skillkit.agent.models.echoes import EchoFilter, is_echo
from skillkit.agent.models.engine import MAX_ANSWER_TOKENS, LocalEngine, Reply
from skillkit.agent.models.examples import RUN, Example, choose, showing
from skillkit.agent.models.given_values import complete, with_said_choices
from skillkit.agent.models.grounding import (
    MadeUp,
    Spoken,
    as_before,
    check_arguments,
)
from skillkit.agent.models.identifiers import example_identifiers
from skillkit.agent.models.reply_choice import Choice, Outcome
from skillkit.agent.models.results import answer_from_result
from skillkit.agent.models.script_requests import (
    Narrowed,
    Scripts,
)
from skillkit.agent.models.skill_answers import (
    describe,
)
from skillkit.agent.models.skill_use import SkillUse
from skillkit.agent.models.spelling import correct_spelling
from skillkit.agent.models.turns import (
    Prompt,
    conversation_text,
    earlier_text,
    latest_request,
    make_command,
    make_prompt,
    make_talk,
)
from skillkit.agent.models.unsupported import (
    ClaimFilter,
)
from skillkit.core.models import SkillMetadata

MAX_TOOL_CALLS = 6
ENOUGH_EXAMPLES = 3
"""So many show a model how tools are called, without the demonstration and the skill's text."""
_CANNOT = "I cannot do that."
TRIES = 2
"""How often the model may reply to a request."""


class LocalChatClient(
    FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], ChatTelemetryLayer[Any], BaseChatClient[Any]
):
    """A model in this process; the tools of a request become the grammar of the reply."""

    OTEL_PROVIDER_NAME: ClassVar[str] = "skillkit.local"

    def __init__(self, engine: LocalEngine, model: str) -> None:
        super().__init__(function_invocation_configuration={"max_iterations": MAX_TOOL_CALLS})
        self.engine = engine
        self.model = model
        self.examples: Callable[[], Sequence[Example]] = tuple
        """The examples of the skills in use."""
        self.skills: Callable[[], Sequence[SkillMetadata]] = tuple
        """The skills that the user may be told of."""
        self.scripts: Callable[[], Scripts] = dict
        """The scripts of the skills in use."""
        self.usage: Callable[[str, str], str] = lambda skill, script: ""
        """What a script of a skill takes on its command line."""
        self._begun_with: tuple[str, frozenset[str]] = ("", frozenset())

    def _first_tools(self, instructions: str, tools: Sequence[ToolSpec]) -> frozenset[str]:
        """The tools that were there when these instructions were first read."""
        names = frozenset(tool.name for tool in tools)
        if self._begun_with[0] != instructions or not self._begun_with[1] <= names:
            self._begun_with = (instructions, names)
        return self._begun_with[1]

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        updates = self._updates(messages, options)
        if stream:
            return self._build_response_stream(updates)

        async def collected() -> ChatResponse[Any]:
            return ChatResponse.from_updates([update async for update in updates])

        return collected()

    async def _updates(
        self, messages: Sequence[Message], options: Mapping[str, Any]
    ) -> AsyncIterator[ChatResponseUpdate]:
        message_id = f"local-{secrets.token_hex(8)}"
        brief = str(options.get("instructions") or "")
        messages, options = with_skills_in_instructions(messages, options)
        if (result := final_result(messages)) is not None:
            yield self._end(NOTHING_READ, message_id, Answer(answer_from_result(result)))
            return
        tools = disclosed(options)
        instructions = str(options.get("instructions") or "")
        spoken = Spoken(
            latest_request(messages), conversation_text(messages), instructions, earlier_text(messages)
        ).spelled_as(lambda request: correct_spelling(request, self.skills()))
        required = bool(tools) and options.get("tool_choice") == "required"
        use = SkillUse(self.skills(), self.examples(), self.scripts(), self.usage)
        known = None if required else self._chosen(use.known_outcome(tools, spoken, messages), spoken.request)
        if isinstance(known, Call | Answer):
            yield self._end(NOTHING_READ, message_id, known)
            return
        choice = use.choice(tools, spoken, known, required=required, last=last_call(messages))
        talk = choice.is_talk
        prompt = self._prompt_for(choice, messages, options, brief)
        usage = self.usage(*known.script) if isinstance(known, Narrowed) and known.script else ""
        prompt = prompt.adding(usage)
        completed = partial(complete, examples=self.examples(), usage=self.usage, request=spoken.request)
        outcome: Outcome = None
        made_up: MadeUp | None = None
        spent = NOTHING_READ
        for _ in range(TRIES):
            echoes = EchoFilter(spoken.request if choice.tools else "")
            writing = AnswerStream(in_json=None if talk else True)
            claims = ClaimFilter(spoken.request, describe(ALL_SKILLS, self.skills()))
            schema = reply_schema(choice.tools, choice.about, choice.forms)
            grammar = None if talk else as_grammar(schema)
            async with aclosing(self._pieces(prompt, grammar, options)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Reply):
                        spent = piece.after(spent)
                    elif text := claims.feed(echoes.feed(writing.feed(piece))):
                        yield self._update(message_id, Content.from_text(text))
                    if claims.stopped:
                        break
            if rest := claims.feed(echoes.finish()) + claims.finish():
                yield self._update(message_id, Content.from_text(rest))
            answered = Echo() if echoes.is_echo else None
            outcome = answered if writing.started else parse(spent.text)
            found = choice.asking(checked(outcome, tools, spoken, messages, completed), made_up)
            outcome = made_up if isinstance(found, Echo) and made_up is not None else found
            made_up = found if isinstance(found, MadeUp) else None
            again = choice.after(outcome, spoken.request)
            if again is None:
                break
            choice = again
        yield self._end(spent, message_id, self._in_words(outcome))

    def _chosen(
        self, known: Call | Narrowed | Answer | None, request: str
    ) -> Call | Narrowed | Answer | None:
        """Return what is known, a call of a script for an identifier with the choices that were said."""
        if not isinstance(known, Call) or not example_identifiers(known.arguments.get("args", ())):
            return known
        usage = self.usage(known.arguments["skill_id"], known.arguments["script_name"])
        return with_said_choices(known, usage, request)

    def _in_words(self, outcome: Outcome) -> Call | Answer | None:
        match outcome:
            case About(skill):
                return Answer(describe(skill, self.skills()))
            case MadeUp(question=question) | Question(text=question):
                return Answer(question)
            case Repeated() | Echo():
                return Answer(_CANNOT)
            case _:
                return outcome

    def _prompt_for(
        self, choice: Choice, messages: Sequence[Message], options: Mapping[str, Any], brief: str
    ) -> Prompt:
        """Return what the model reads for a choice: no more than that needs."""
        if choice.is_talk:
            return make_talk(messages, brief, context=self.engine.context)
        answers = earlier_text(messages).rstrip().endswith("?")  # what was asked before has to be understood
        command = self._command(messages, choice.tools) if choice.is_command and not answers else None
        return command or self._prompt(messages, options)

    def _command(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Prompt | None:
        """Return what the model reads for a request that these tools are for, if examples show them."""
        shown = showing({tool.name for tool in tools}, self.examples())
        if len(shown) < ENOUGH_EXAMPLES:
            return None
        return make_command(messages, tools, shown, context=self.engine.context)

    def _prompt(self, messages: Sequence[Message], options: Mapping[str, Any]) -> Prompt:
        tools = disclosed(options)
        instructions = str(options.get("instructions") or "")
        first = [tool for tool in tools if tool.name in self._first_tools(instructions, tools)]
        added = [tool for tool in tools if tool not in first]
        callable_now = {None, *(tool.name for tool in tools)}
        usable = [example for example in self.examples() if example.tool in callable_now]
        shown = choose(latest_request(messages), usable)
        return make_prompt(messages, instructions, first, added, shown, context=self.engine.context)

    def _end(self, reply: Reply, message_id: str, outcome: Call | Answer | None) -> ChatResponseUpdate:
        usage = UsageDetails(
            input_token_count=reply.prompt_tokens,
            output_token_count=reply.reply_tokens,
            total_token_count=reply.prompt_tokens + reply.reply_tokens,
            cache_read_input_token_count=reply.prompt_tokens - reply.processed_tokens,
        )
        contents = [Content.from_usage(usage)]
        finish = "length" if reply.cut else "stop"
        if isinstance(outcome, Call):
            arguments = json.dumps(outcome.arguments, ensure_ascii=False)
            call = Content.from_function_call(f"call-{message_id}", outcome.tool, arguments=arguments)
            contents.insert(0, call)
            finish = "tool_calls"
        elif outcome is not None:
            contents.insert(0, Content.from_text(outcome.text))
        return self._update(message_id, *contents, finish=finish)

    def _update(self, message_id: str, *contents: Content, finish: Any = None) -> ChatResponseUpdate:
        return ChatResponseUpdate(
            role="assistant",
            contents=list(contents),
            message_id=message_id,
            response_id=message_id,
            model=self.model,
            finish_reason=finish,
        )

    async def _pieces(
        self, prompt: Prompt, grammar: str | None, options: Mapping[str, Any]
    ) -> AsyncGenerator[str | Reply]:
        """What the engine writes, from its own thread; leaving early stops the engine."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[str | Reply | BaseException] = asyncio.Queue()
        cancelled = threading.Event()

        def put(item: str | Reply | BaseException) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(queue.put_nowait, item)

        def on_text(text: str) -> bool:
            put(text)
            return cancelled.is_set()

        def work() -> None:
            try:
                put(
                    self.engine.reply(
                        [*prompt.fixed, *prompt.turns],
                        fixed=len(prompt.fixed),
                        grammar=grammar,
                        max_tokens=int(options.get("max_tokens") or MAX_ANSWER_TOKENS),
                        temperature=float(options.get("temperature") or 0.0),
                        on_text=on_text,
                    )
                )
            except Exception as error:
                put(error)

        threading.Thread(target=work, name="local-model", daemon=True).start()
        try:
            while True:
                item = await queue.get()
                if isinstance(item, BaseException):
                    raise item
                yield item
                if isinstance(item, Reply):
                    return
        finally:
            cancelled.set()


def as_grammar(schema: Mapping[str, Any]) -> str:
    from xllamacpp import json_schema_to_grammar

    return str(json_schema_to_grammar(json.dumps(schema)))


def checked(
    outcome: Outcome,
    tools: Sequence[ToolSpec],
    spoken: Spoken,
    messages: Sequence[Message],
    completed: Callable[[Call], Call],
) -> Outcome:
    """Return a reply with the values that somebody has named, or why it will not do."""
    match outcome:
        case Question(text=text) if is_echo(text, spoken.request):
            return Echo()
        case Call():
            if is_repeated(outcome, messages):
                return Repeated()
            if all(tool.name != outcome.tool for tool in tools):  # without a grammar it may name anything
                return Answer(_CANNOT)
            found = check_arguments(outcome, tools, spoken)
            if not isinstance(found, Call):
                return found
            return as_before(completed(found), last_call(messages), spoken)
        case _:
            return outcome


class PreparingClient(LocalChatClient):
    """Processes what a request begins with and answers nothing."""

    async def _updates(
        self, messages: Sequence[Message], options: Mapping[str, Any]
    ) -> AsyncIterator[ChatResponseUpdate]:
        prompt = self._prompt(*with_skills_in_instructions(messages, options))
        called = {example.tool for example in self.examples()} - {None, RUN}
        command = self._command((), [tool for tool in disclosed(options) if tool.name in called])
        for beginning in (prompt, *((command,) if command is not None else ())):
            await asyncio.to_thread(self.engine.prepare, beginning.fixed)
        yield self._end(NOTHING_READ, "prepared", Answer("Prepared."))


NOTHING_READ = Reply("", prompt_tokens=0, processed_tokens=0, reply_tokens=0, cut=False)
