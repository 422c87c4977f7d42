"""The Anthropic SDK, over HTTP to a server on loopback that replies as scripted."""

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.tools import beta_async_tool, beta_tool

from conformance.script import Driver, Reply, Seen, Turn, in_blocking_run, say
from skillkit.disclosure import SkillContextProvider, SkillSession
from skillkit.integrations.anthropic import AnthropicSkills
from skillkit.integrations.conversation import ForkedSkill

COMMON: dict[str, Any] = {"model": "scripted", "max_tokens": 1000}


async def asay(word: str) -> str:
    """Say a word."""
    return say(word)


class AnthropicDriver(Driver):
    title = "Anthropic"
    runner: Mapping[str, Any] = {**COMMON, "thread": False}
    """The runner sends the whole conversation with each request."""

    def __init__(self, provider: SkillContextProvider) -> None:
        super().__init__(provider)
        self.messages: list[Any] = []
        self.approved = True
        self.skills = AnthropicSkills(provider, approve=self._approve)
        self.server = MessagesServer(self)

    async def turn(self, user: str, replies: Sequence[Reply], *, approve: bool = True) -> Turn:
        turn, self.approved = self.model.begin(replies), approve
        self.messages.append({"role": "user", "content": user})
        turn.text = await self._run()
        turn.files = [str(file["name"]) for file in self.skills.conversation.files]
        new = self.server.last_messages[len(self.messages) :]
        self.messages += [*new, {"role": "assistant", "content": turn.text}]
        return turn

    def begin_conversation(self) -> None:
        self.messages = []
        self.skills = AnthropicSkills(self.provider, approve=self._approve, requester=self.requester)
        self.server = MessagesServer(self)

    async def forget(self) -> None:
        self.messages.clear()

    async def restart(self) -> None:
        saved = json.dumps(self.skills.conversation.session.to_data())
        session = SkillSession.from_data(json.loads(saved))
        self.skills = AnthropicSkills(self.provider, session, approve=self._approve)

    async def close(self) -> None:
        await asyncio.to_thread(self.server.stop)

    async def _run(self) -> str:
        async with AsyncAnthropic(base_url=self.server.address, api_key="none", max_retries=0) as client:
            own = [beta_async_tool(asay, name="say")] if self.own_tool else []
            runner = self.skills.async_runner(client, messages=self.messages, tools=own, **self.runner)
            return _text(await runner.until_done())

    def _approve(self, name: str, arguments: Mapping[str, object]) -> bool:
        self.model.turn.asked.append(name)
        return self.approved


class AnthropicThreadDriver(AnthropicDriver):
    """The SDK's default: a thread that the service keeps, to which the runner sends only what is new."""

    variant = "thread"
    runner = COMMON


class AnthropicBlockingDriver(AnthropicDriver):
    variant = "sync"

    async def _run(self) -> str:
        return str(await in_blocking_run(self._run_blocking))

    def _run_blocking(self) -> str:
        with Anthropic(base_url=self.server.address, api_key="none", max_retries=0) as client:
            own = [beta_tool(say)] if self.own_tool else []
            return _text(
                self.skills.runner(client, messages=self.messages, tools=own, **self.runner).until_done()
            )


class AnthropicStreamingDriver(AnthropicDriver):
    variant = "streaming"

    async def _run(self) -> str:
        async with AsyncAnthropic(base_url=self.server.address, api_key="none", max_retries=0) as client:
            text = ""
            own = [beta_async_tool(asay, name="say")] if self.own_tool else []
            runner: Any = self.skills.async_runner(
                client, messages=self.messages, tools=own, stream=True, **self.runner
            )
            async for stream in runner:
                async for _ in stream:
                    pass
                text = _text(await stream.get_final_message())
            return text


class AnthropicManualDriver(AnthropicDriver):
    variant = "own loop"

    async def _run(self) -> str:
        self.skills.conversation.fork = self._run_fork
        return await self._loop(self.skills, list(self.messages))

    async def _run_fork(self, forked: ForkedSkill) -> str:
        skills = AnthropicSkills.of(forked.conversation)
        return await self._loop(skills, [{"role": "user", "content": forked.request}])

    async def _loop(self, skills: AnthropicSkills, messages: list[Any]) -> str:
        async with AsyncAnthropic(base_url=self.server.address, api_key="none", max_retries=0) as client:
            while True:
                tools: Any = [{"name": "say", "input_schema": {"type": "object"}}] if self.own_tool else []
                request = skills.request(messages, tools=tools)
                message = await client.messages.create(**request, **COMMON)
                answer: Any = await skills.results(message)
                answered = {block["tool_use_id"] for block in answer["content"]} if answer else set()
                own = [block for block in message.content if block.type == "tool_use"]
                own = [block for block in own if block.id not in answered]
                if answer is None and not own:
                    return _text(message)
                answer = answer or {"role": "user", "content": []}
                for block in own:
                    result = {"type": "tool_result", "tool_use_id": block.id, "content": say(**block.input)}
                    answer["content"].append(result)
                messages += [{"role": "assistant", "content": message.content}, answer]


def _text(message: Any) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


class MessagesServer:
    """The Messages API with a driver's model behind it."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.last_messages: list[Any] = []
        self.threads: dict[str, dict[str, Any]] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                message = outer.reply(request)
                if request.get("stream"):
                    kind, body = "text/event-stream", "".join(_events(message))
                else:
                    kind, body = "application/json", json.dumps(message)
                raw = body.encode()
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()

    def reply(self, request: Mapping[str, Any]) -> dict[str, Any]:
        request = self._whole(request)
        self.last_messages = request["messages"]
        system = "\n\n".join(block["text"] for block in request.get("system", ()))
        tools = {tool["name"]: tool["input_schema"] for tool in request.get("tools", ())}
        added = [message["content"] for message in request["messages"] if message["role"] == "system"]
        for block in (block for blocks in added for block in blocks if block["type"] == "tool_addition"):
            definition = block["tool"]["definition"]
            tools[definition["name"]] = definition["input_schema"]
        said = [message["content"] for message in request["messages"] if message["role"] == "user"]
        blocks = [] if isinstance(said[-1], str) else said[-1]
        answers = [block for block in blocks if block["type"] == "tool_result"]
        results = [_result(block) for block in answers]
        failed = [block.get("is_error") is True for block in answers]
        parts = [part for message in request["messages"] for part in _parts(message)]
        reply = self.driver.model.answer(Seen(system, tools, results, parts, failed))
        content: list[dict[str, Any]]
        if isinstance(reply, str):
            content = [{"type": "text", "text": reply}]
        else:
            content = [
                {
                    "type": "tool_use",
                    "id": self.driver.model.call_id(),
                    "name": call.name,
                    "input": dict(call.arguments),
                }
                for call in reply
            ]
        message_id = f"msg_{len(self.threads)}"
        replied = [*request["messages"], {"role": "assistant", "content": content}]
        self.threads[message_id] = {**request, "messages": replied}
        return {
            "id": message_id,
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": content,
            "stop_reason": "end_turn" if isinstance(reply, str) else "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    def _whole(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """A request with all that its thread holds already."""
        thread = request.get("thread", {"type": "create"})
        if thread["type"] == "create":
            return request
        assert not {"system", "tools"} & request.keys(), "the service keeps those of the thread"
        kept = self.threads[thread["previous_message_id"]]
        return {**kept, **request, "messages": [*kept["messages"], *request["messages"]]}


def _parts(message: Mapping[str, Any]) -> list[str]:
    """The blocks of a message; a cache mark is not part of what the cache compares."""
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    unmarked = [{key: value for key, value in block.items() if key != "cache_control"} for block in blocks]
    return [json.dumps([message["role"], block]) for block in unmarked]


def _result(block: Mapping[str, Any]) -> str:
    content = block["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _events(message: dict[str, Any]) -> Iterator[str]:
    def event(kind: str, **data: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n"

    yield event("message_start", message={**message, "content": [], "stop_reason": None})
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield event("content_block_start", index=index, content_block=start)
        yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    yield event(
        "message_delta",
        delta={"stop_reason": message["stop_reason"], "stop_sequence": None},
        usage={"output_tokens": 1},
    )
    yield event("message_stop")


DRIVERS = (
    AnthropicDriver,
    AnthropicThreadDriver,
    AnthropicBlockingDriver,
    AnthropicManualDriver,
    AnthropicStreamingDriver,
)
