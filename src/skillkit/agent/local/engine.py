"""llama.cpp in this process: one model, one conversation at a time, with prompt state cached on disk."""

import atexit
import json
import os
import secrets
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

from skillkit.agent.exceptions import ModelFileError, ProviderError
from skillkit.agent.local.states import PromptStates, shared_beginning
from skillkit.core.extras import pip_install

if TYPE_CHECKING:
    from xllamacpp import Server

CONTEXT_TOKENS = 8192
MAX_ANSWER_TOKENS = 1024
LOOP_WINDOW = 160
"""Number of final pieces that are checked for endless repetition, which small models are prone to."""

INTERRUPTED = 130

Turn = dict[str, str]
"""A chat message: `role` and `content`."""
Stop = bool
OnText = Callable[[str], Stop]
"""Called with each piece of the reply; returning True stops it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The model's reply, with its token counts and timing."""

    text: str
    prompt_tokens: int
    processed_tokens: int
    """Prompt tokens that had to be computed; the others were cached."""
    reply_tokens: int
    cut: bool
    """Whether the reply was truncated by its token limit."""

    def after(self, other: "Reply") -> "Reply":
        """Return this reply with the cost of an earlier reply to the same request added."""
        return replace(
            self,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            processed_tokens=self.processed_tokens + other.processed_tokens,
            reply_tokens=self.reply_tokens + other.reply_tokens,
        )


_LOOKS = 5
_BETWEEN_LOOKS = 0.01


def _runnable() -> int | None:
    """Return how many threads of this machine are runnable: the median of a few samples."""
    seen = []
    try:
        for _ in range(_LOOKS):
            seen.append(int(Path("/proc/loadavg").read_text("ascii").split()[3].partition("/")[0]))
            time.sleep(_BETWEEN_LOOKS)
    except (OSError, ValueError, IndexError):  # unsupported by this system
        return None
    return sorted(seen)[_LOOKS // 2]


def threads(runnable: Callable[[], int | None] = _runnable) -> int:
    """Return the thread count: all cores of an idle machine, else all but one, so that it stays usable.

    Two threads on two busy cores wait for each other and are slower than one. `runnable` returns how many
    threads of the machine are runnable, including ours; a load average would still count finished ones.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    now = runnable()
    idle = now <= 1 if now is not None else hasattr(os, "getloadavg") and os.getloadavg()[0] < cores / 4
    return cores if idle else max(1, cores - 1)


class LocalEngine:
    """A loaded model. Calls block, and concurrent calls are serialised."""

    def __init__(self, model: Path, states: Path | None = None, *, context: int = CONTEXT_TOKENS) -> None:
        try:
            import xllamacpp
        except ImportError as error:
            raise ProviderError(
                f"The embedded model needs xllamacpp. Install it with: {pip_install('local')}"
            ) from error
        self._one_at_a_time = Lock()
        atexit.register(_leave, self._one_at_a_time)
        self._key = secrets.token_urlsafe(32)
        self._processed = ""
        self.context = context
        """Token limit of prompt and reply together."""
        size = model.stat().st_size
        identity = f"{xllamacpp.__version__}\0{model.name}\0{size}\0{context}"
        self.states = PromptStates(states, identity) if states is not None else None
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(model)
        parameters.n_ctx = context
        parameters.n_parallel = 1
        parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads()
        parameters.no_extra_bufts = True  # repacked weights would double the memory
        parameters.warmup = False
        parameters.fit_params = False  # it would read the file again to compute what fits on which device
        parameters.verbosity = -1
        # The library listens on loopback; the key prevents access by other users of the machine.
        parameters.api_keys = [self._key]
        if self.states is not None:
            parameters.slot_save_path = f"{self.states.folder}{os.sep}"
            parameters.endpoint_slots = True
        try:
            self._server: Server = xllamacpp.Server(parameters)
        except (RuntimeError, ValueError) as error:
            raise ModelFileError(
                f"The model {model} cannot be loaded ({error}). Check it with: agent model verify"
            ) from error

    @property
    def address(self) -> str:
        """The address on which the library listens."""
        return str(self._server.listening_address)

    def reply(
        self,
        messages: Sequence[Turn],
        *,
        fixed: int = 0,
        grammar: str | None = None,
        max_tokens: int = MAX_ANSWER_TOKENS,
        temperature: float = 0.0,
        on_text: OnText = lambda text: False,
    ) -> Reply:
        """Generate the next message under `grammar`; the first `fixed` messages repeat from request to
        request."""
        with self._one_at_a_time:
            turns = self._reuse_nonces(messages)
            remembered = self._remember(turns[:fixed])
            reply = self._generate(turns, grammar, max_tokens, temperature, on_text)
            self._processed = _as_text(turns)
            return replace(reply, processed_tokens=reply.processed_tokens + remembered)

    def _generate(
        self,
        messages: Sequence[Turn],
        grammar: str | None,
        max_tokens: int,
        temperature: float,
        on_text: OnText,
    ) -> Reply:
        request: dict[str, object] = {
            "messages": list(messages),
            "max_tokens": max_tokens,
            "temperature": temperature,
            "cache_prompt": True,
            "stream": True,
        }
        if grammar is not None:
            request["grammar"] = grammar
        pieces: list[str] = []
        last: dict[str, Any] = {}
        choice: dict[str, Any] = {}

        def take(raw: str) -> Stop:
            nonlocal last, choice
            last = json.loads(raw)
            choice = (last.get("choices") or [{}])[0]
            piece = choice.get("delta", {}).get("content")
            if not piece:
                return False
            pieces.append(piece)
            return on_text(piece) or is_looping("".join(pieces[-LOOP_WINDOW:]))

        try:
            self._server.handle_chat_completions(json.dumps(request), take)
        except (RuntimeError, ValueError) as error:
            raise ProviderError(f"The embedded model refused the request: {_with_remedy(error)}") from error
        if "error" in last:
            said = _with_remedy(last["error"].get("message", ""))
            raise ProviderError(f"The embedded model failed: {said}")
        timings = last.get("timings", {})
        processed = int(timings.get("prompt_n", 0))
        return Reply(
            text="".join(pieces),
            prompt_tokens=processed + int(timings.get("cache_n", 0)),
            processed_tokens=processed,
            reply_tokens=int(timings.get("predicted_n", len(pieces))),
            cut=is_looping("".join(pieces[-LOOP_WINDOW:])) or choice.get("finish_reason") == "length",
        )

    def _reuse_nonces(self, messages: Sequence[Turn]) -> list[Turn]:
        if self.states is None:
            return list(messages)
        texts = self.states.reuse_nonces([turn["content"] for turn in messages])
        return [{**turn, "content": text} for turn, text in zip(messages, texts, strict=True)]

    def _remember(self, beginning: Sequence[Turn]) -> int:
        """Restore the prompt state of an earlier request or process, or save one for later.

        Returns the number of tokens processed for it.
        """
        if self.states is None or not beginning:
            return 0
        prompt = _as_text(beginning)
        here = shared_beginning(self._processed, prompt)
        known = self.states.nearest(prompt)
        if known is not None and known.shared(prompt) > here:
            if self._slot("restore", known.filename):
                here = known.shared(prompt)
                self.states.touch(known)
            else:
                self.states.forget(known.name)
        if here == len(prompt):
            return 0
        reply = self._generate(beginning, None, 1, 0.0, lambda text: False)
        fresh = self.states.new(prompt)
        if self._slot("save", fresh.filename):
            self.states.keep(fresh)
        return reply.processed_tokens

    def _slot(self, action: str, filename: str) -> bool:
        """Save or restore the prompt state; a failure only costs time."""
        request = Request(
            f"{self.address}/slots/0?action={action}",
            data=json.dumps({"filename": filename}).encode(),
            headers={"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"},
        )
        try:
            with urlopen(request, timeout=60) as response:
                return bool(response.status == 200)
        except OSError:
            return False


def _leave(working: Lock) -> None:
    """Exit a program that was interrupted during inference: native threads cannot be stopped, and must not
    run while the interpreter shuts down."""
    if working.locked():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(INTERRUPTED)


def is_looping(text: str) -> bool:
    """Return whether `text` ends with one phrase repeated four times."""
    return any(
        len(text) >= 4 * length and text.endswith(text[-length:] * 4) and text[-length:].strip()
        for length in range(4, len(text) // 4 + 1)
    )


def _as_text(turns: Sequence[Turn]) -> str:
    return "\0".join(f"{turn['role']}\0{turn['content']}" for turn in turns)


def _with_remedy(error: object) -> str:
    said = " ".join(str(error).split())[:300]
    if "context size" in said:
        said = f"{said.partition(', try')[0]}. Let it read more: agent config set local.context TOKENS"
    return said
