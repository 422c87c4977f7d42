"""`script_list`, `script_help`, `script_run`: as Python calls, sync and async, and as tools for a model."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from threading import Lock
from typing import Any

from skillkit.core.authority import Authority, SkillDirectory, current_requester
from skillkit.core.availability import Refusal
from skillkit.core.digest_memo import tree_digests
from skillkit.core.exceptions import (
    ContentLoadError,
    SkillInvocationError,
    SkillNotFoundError,
    SkillsUseError,
)
from skillkit.core.grants import Grants, Limits
from skillkit.core.models import SkillMetadata
from skillkit.core.names import refusal
from skillkit.core.text import escape_hidden, strip_hidden
from skillkit.disclosure.session import SkillSession
from skillkit.disclosure.tools import Tool
from skillkit.scripts import telemetry
from skillkit.scripts.arguments import JSON, asks_for_help
from skillkit.scripts.catalogue import Script, find_script, find_scripts
from skillkit.scripts.exceptions import RefusedRequestError
from skillkit.scripts.granted_requests import help_request, run_request
from skillkit.scripts.inputs import Inputs
from skillkit.scripts.model_tools import model_tools
from skillkit.scripts.models import ScriptRequest, ScriptResult, ScriptRunner
from skillkit.scripts.outputs import OutputStore
from skillkit.scripts.payloads import (
    Payload,
    command_output,
    failure,
    help_payload,
    run_payload,
    success,
)
from skillkit.scripts.runners import default_runner
from skillkit.scripts.script_help import with_written_help, written_help_of
from skillkit.scripts.secret_store import SecretStore

_HELP_TEXTS = 256
_MAX_NAMES = 20


_Run = tuple[ScriptRequest, Callable[[ScriptResult], Payload]]
"""A request to run, and the function that turns its result into a payload."""
_Prepare = Callable[[SkillMetadata, Script], _Run | Payload]


class ScriptTools:
    """The scripts of all skills in a directory, behind three calls.

    `skills` says which skills exist and may be used (a SkillManager), `authority` what is granted to the
    exact tree on disk (unless given, the one of `skills`), `runner` executes, `outputs` keeps what scripts
    make. Everything a caller can get wrong comes back as data.
    """

    def __init__(
        self,
        skills: SkillDirectory,
        runner: ScriptRunner | Callable[[], ScriptRunner] | None = None,
        authority: Authority | None = None,
        *,
        limits: Limits | None = None,
        outputs: OutputStore | None = None,
        secrets: SecretStore | None = None,
        remedy: Callable[[str, str, str], str] | None = None,
    ) -> None:
        self._secrets = secrets or SecretStore()
        self._remedy = remedy
        """Returns a user's remedy for a cause of failure, a skill and a subject."""
        self._skills = skills
        self.outputs = outputs or OutputStore()
        self._given_runner = runner or default_runner()
        self._authority = authority
        self._limits = limits
        self._help: OrderedDict[tuple[str, str], Payload] = OrderedDict()
        self._help_lock = Lock()
        self._tools = model_tools(self.ascript_list, self.ascript_help, self.ascript_run, self.aread_output)

    @cached_property
    def _runner(self) -> ScriptRunner:
        """The runner; one that was given as a function is made for the first script."""
        given = self._given_runner
        return given() if callable(given) else given

    @property
    def authority(self) -> Authority:
        """The authority that decides grants of scripts."""
        return self._authority or self._skills.authority

    # Listing: reads names, runs nothing

    def script_list(self, skill_name: str | None = None) -> Payload:
        """The scripts of one skill or of all."""
        try:
            named = None if skill_name is None else self._skill(skill_name, "Skill '{}' not found")
        except RefusedRequestError as error:
            return failure(error.code, str(error))
        skills = self._usable() if named is None else [named]
        listed = {
            skill.name: [{"name": script.name, "path": str(script.path)} for script in scripts]
            for skill in skills
            if (scripts := find_scripts(skill)) or skill_name is not None
        }
        count = sum(map(len, listed.values()))
        message = (
            f"Found {count} script{'s' * (count != 1)} across {len(listed)} skill{'s' * (len(listed) != 1)}"
        )
        if skill_name is not None and count:
            message = f"{message}: {_names(skills[0])}"
        return success(listed, message)

    async def ascript_list(self, skill_name: str | None = None) -> Payload:
        """`script_list` without blocking the event loop."""
        return await asyncio.to_thread(self.script_list, skill_name)

    # Help

    def script_help(self, skill_name: str, script_name: str, *, from_text: bool = True) -> Payload:
        """What `--help` prints, asked for in the sandbox without network and within the time limit of a run.

        With `from_text`, a script that prints no help is answered for by its own text and the skill's: then
        `result` has `source`, and the message says why.
        """
        prepare = partial(self._prepare_help, from_text=from_text)
        return self._run("script_help", skill_name, script_name, prepare)

    async def ascript_help(self, skill_name: str, script_name: str, *, from_text: bool = True) -> Payload:
        """`script_help` without blocking the event loop."""
        prepare = partial(self._prepare_help, from_text=from_text)
        return await self._arun("script_help", skill_name, script_name, prepare)

    # Running

    def script_run(
        self,
        skill_name: str,
        script_name: str,
        args: Sequence[str] | None = None,
        json: bool | None = True,
        *,
        seconds: float | None = None,
        inputs: Inputs | None = None,
    ) -> Payload:
        """Run a script; with `json` it must print one JSON document, and is given `--json` if it has that.

        None means JSON if the script has `--json`, else text. `seconds` shortens the time limit for
        this call. `inputs` are files that the script finds, read-only, as `/input/<name>`; an argument that
        is such a file's path becomes that name. A call for nothing but `--help` is one of `script_help`.
        """
        prepare = partial(self._prepare_run, args=args, json=json, seconds=seconds, inputs=inputs)
        return self._run("script_run", skill_name, script_name, prepare)

    async def ascript_run(
        self,
        skill_name: str,
        script_name: str,
        args: Sequence[str] | None = None,
        json: bool | None = True,
        *,
        seconds: float | None = None,
        inputs: Inputs | None = None,
    ) -> Payload:
        """`script_run` without blocking; cancelling the task kills the script."""
        prepare = partial(self._prepare_run, args=args, json=json, seconds=seconds, inputs=inputs)
        return await self._arun("script_run", skill_name, script_name, prepare)

    # Commands in instructions

    def run_command(self, skill: SkillMetadata, command: str) -> tuple[bool, str]:
        """Run a command from a skill's instructions; return whether it ran, and its output.

        It runs as a script does, in the sandbox and with its grants, and only of a tree that is trusted.
        """
        script = Script("SKILL.md", "SKILL.md", skill.skill_path, skill.skill_path.name)
        try:
            digest, grants = self._grants(skill, script)
            untrusted = self.authority.import_refusal(skill, digest, current_requester())
            if untrusted is not None:
                return False, untrusted.reason
            request = run_request(skill, script, digest, grants, as_json=False, limits=self._limits)
        except RefusedRequestError as error:
            return False, str(error)
        request = replace(request, command=command, shell=skill.shell or "bash")
        return command_output(self._runner.run(request))

    # For a model

    def tools(self, session: SkillSession | None = None) -> tuple[Tool, ...]:
        """The neutral definitions that every integration wraps, the same in every conversation.

        Once a script of the conversation has made files there is one more, to read them.
        """
        return self._tools if self.outputs.has_any(current_requester()) else self._tools[:-1]

    def tool(self, name: str, session: SkillSession | None = None) -> Tool | None:
        """Return one of the tools, also if there are no scripts; it then says so."""
        return next((tool for tool in self._tools if tool.name == name), None)

    async def aread_output(self, uri: str, offset: int = 0) -> Payload:
        """Return a page of a file that a script made."""
        try:
            page = await asyncio.to_thread(self.outputs.page, uri, current_requester(), max(0, offset))
        except SkillsUseError as error:
            return failure("not_found", str(error))
        about = {"media_type": page.media_type, "bytes": page.size, "next_offset": page.next_offset}
        if page.text is None:
            return failure("binary", f"{_shown(uri)} is no text: {page.media_type}, {page.size} bytes", about)
        return success(strip_hidden(page.text), f"Read {_shown(uri)} from byte {page.offset}", about)

    # From names to a request

    def _usable(self) -> list[SkillMetadata]:
        return [skill for skill in self._skills.list_skills() if self._skills.refusal(skill) is None]

    def _skill(self, name: object, unknown: str) -> SkillMetadata:
        if not isinstance(name, str) or not name.strip() or refusal(name) is not None:
            raise _invalid("skill", name)
        try:
            skill = self._skills.get_skill(name)
            refused = self._skills.refusal(skill)
        except SkillNotFoundError:
            refused = Refusal("not_found", "")
        except (SkillsUseError, ValueError) as error:
            raise _invalid("skill", name) from error
        if refused is None:
            return skill
        if refused.code == "not_found":
            if len(name.split()) > 1:
                raise _invalid("skill", name)
            raise RefusedRequestError("not_found", unknown.format(_shown(name)))
        code = "dependency_failed" if refused.code == "unavailable" else "permission_denied"
        raise RefusedRequestError(code, refused.reason)

    def _find(self, skill_name: object, script_name: object) -> tuple[SkillMetadata, Script]:
        skill = self._skill(skill_name, "Skill '{}' not loaded or installed")
        if not isinstance(script_name, str) or any(map(refusal, script_name.split("/"))):
            raise _invalid("script", script_name)
        script = find_script(skill, script_name.strip())
        if script is None:
            if not script_name.strip() or "/" in script_name:
                raise _invalid("script", script_name)
            missing = f"Script '{_shown(script_name)}' not found in skill '{skill.name}'"
            raise RefusedRequestError("not_found", f"{missing}, which has: {_names(skill) or 'no scripts'}")
        return skill, script

    def _prepare_run(
        self,
        skill: SkillMetadata,
        script: Script,
        *,
        args: Sequence[str] | None,
        json: bool | None,
        **options: Any,
    ) -> _Run | Payload:
        if asks_for_help(args):
            return self._prepare_help(skill, script, as_text=json is False)
        granted = self._grants(skill, script)
        options |= {"as_json": json, "limits": self._limits, "secret_value": self._secrets.value}
        try:
            request = run_request(skill, script, *granted, args, **options)
        except RefusedRequestError as error:
            return self._with_remedy(failure(error.code, str(error)), skill, error.cause, error.subject)
        as_json = False if json is None and JSON not in request.arguments else json

        def answer(result: ScriptResult) -> Payload:
            payload = run_payload(script.name, request, result, as_json=as_json)
            payload = self._with_remedy(payload, skill, payload.get("cause", ""), payload.pop("subject", ""))
            payload = self._with_files(payload, result)
            telemetry.record_run(request, skill.permissions, payload, self._skills)
            return payload

        return request, answer

    def _prepare_help(
        self, skill: SkillMetadata, script: Script, *, from_text: bool = True, as_text: bool = False
    ) -> _Run | Payload:
        digest, grants = self._grants(skill, script)
        with self._help_lock:
            if (known := self._help.get((digest, script.file))) is not None:
                self._help.move_to_end((digest, script.file))
                return _help_text(known) if as_text else known
        request = help_request(skill, script, digest, grants, self._limits)
        written = written_help_of(skill, script) if from_text else None

        def answer(result: ScriptResult) -> Payload:
            payload = help_payload(script.name, request, result)
            payload = self._with_remedy(payload, skill, payload.get("cause", ""), payload.pop("subject", ""))
            telemetry.record_run(request, skill.permissions, payload, self._skills)
            payload = with_written_help(script.name, payload, written)
            # The reason it printed no help, such as a missing package, may be fixed without a new digest.
            if payload["success"] and "source" not in payload["result"]:
                with self._help_lock:
                    self._help[digest, script.file] = payload
                    while len(self._help) > _HELP_TEXTS:
                        self._help.popitem(last=False)
            return _help_text(payload) if as_text else payload

        return request, answer

    def help_requests(self, skill_name: str) -> list[ScriptRequest]:
        """Return a request for the help of each script of a skill; SkillInvocationError says why not."""
        try:
            skill = self._skill(skill_name, "Skill '{}' not loaded or installed")
            return [
                help_request(skill, script, *self._grants(skill, script), self._limits)
                for script in find_scripts(skill)
            ]
        except RefusedRequestError as error:
            raise SkillInvocationError(str(error)) from error

    def _grants(self, skill: SkillMetadata, script: Script) -> tuple[str, Grants]:
        try:
            digest = tree_digests.with_links(skill.base_dir).digest
        except SkillsUseError as error:
            raise RefusedRequestError("permission_denied", str(error)) from error
        grants = self.authority.grants(skill, digest, current_requester())
        if not grants.run:
            reason = grants.reason or f"Scripts of the skill '{skill.name}' are not allowed to run"
            telemetry.record_denial(skill.name, script.relative_path, digest, reason, self._skills)
            raise RefusedRequestError("permission_denied", reason)
        return digest, grants

    # From a request to an answer

    def _prepared(
        self, tool: str, skill_name: object, script_name: object, prepare: _Prepare
    ) -> _Run | Payload:
        """Return what is to be run, or the answer; a call that is refused gets a span of its own."""
        try:
            step = prepare(*self._find(skill_name, script_name))
        except RefusedRequestError as error:
            step = failure(error.code, str(error))
        except ContentLoadError as error:
            # The folder was replaced or removed after its digest was taken.
            step = failure("permission_denied", f"{error}; the skill changed after this run was approved")
        if isinstance(step, dict) and not step["success"]:
            telemetry.trace_refusal(
                tool, _shown(skill_name), _shown(script_name), step["error"], self._skills
            )
        return step

    def _run(self, tool: str, skill_name: object, script_name: object, prepare: _Prepare) -> Payload:
        step = self._prepared(tool, skill_name, script_name, prepare)
        if isinstance(step, dict):
            return step
        request, answer = step
        return answer(self._runner.run(request))

    async def _arun(self, tool: str, skill_name: object, script_name: object, prepare: _Prepare) -> Payload:
        step = await asyncio.to_thread(self._prepared, tool, skill_name, script_name, prepare)
        if isinstance(step, dict):
            return step
        request, answer = step
        return await asyncio.to_thread(answer, await self._runner.arun(request))

    def _with_remedy(self, payload: Payload, skill: SkillMetadata, cause: str, subject: str) -> Payload:
        """Add what a user can type about the cause of a failure."""
        if self._remedy is not None and cause and (remedy := self._remedy(cause, skill.name, subject)):
            payload["message"] += f"\n{remedy}"
        return payload

    def _with_files(self, payload: Payload, result: ScriptResult) -> Payload:
        if not (result.files or result.files_left_out):
            return payload
        try:
            kept = self.outputs.keep(result.files, current_requester())
        except OSError as error:
            return {**payload, "files_left_out": [f"all of them: they cannot be kept: {error.strerror}"]}
        left_out = {"files_left_out": [*result.files_left_out]} if result.files_left_out else {}
        return {**payload, "files": [file.to_data() for file in kept], **left_out}


def _invalid(kind: str, name: object) -> RefusedRequestError:
    return RefusedRequestError("invalid_name", f"Invalid {kind} name: '{_shown(name)}'")


def _help_text(help_payload: Payload) -> Payload:
    """Return the payload of a run for the help alone, where text was requested."""
    if not help_payload["success"]:
        return help_payload
    return {**help_payload, "result": help_payload["result"]["help_text"]}


def _names(skill: SkillMetadata) -> str:
    """Return the scripts of a skill in a few words, for a model that guessed a name."""
    names = [script.name for script in find_scripts(skill)]
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + more


def _shown(name: object) -> str:
    return escape_hidden(str(name))[:100]
