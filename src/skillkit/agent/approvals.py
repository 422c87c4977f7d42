"""Approval of a skill's scripts: given by the user for exact bytes, never by the conversation."""

import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

from skillkit.core.authority import Authority, Requester, WrappedAuthority, current_requester
from skillkit.core.digest_memo import tree_digests
from skillkit.core.disk import real_path
from skillkit.core.events import Event, Json, Kind, in_turn
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.grants import Grants
from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata
from skillkit.core.shipped import is_as_shipped
from skillkit.disclosure import SkillSession, Tool, ToolSource
from skillkit.disclosure.tool_sources import WrappedTools
from skillkit.disclosure.tools import Argument, named_skill
from skillkit.install.consents import (
    Consent,
    ConsentFile,
    ConsentKind,
    add_parts,
    project_consent,
    show_project,
)
from skillkit.scripts.inputs import named_in_project, named_inputs, with_input_names, working_project
from skillkit.scripts.runners import can_show_folders


class Decision(str, Enum):
    """The user's answer to a question."""

    ONCE = "once"
    SESSION = "session"
    ALWAYS = "always"
    NO = "no"
    WITHOUT = "without"
    """Approve once, without access to the folder that the question names."""


@dataclass(frozen=True, slots=True)
class ScriptQuestion:
    """A script run that waits for approval."""

    skill: SkillMetadata
    script: str
    arguments: Sequence[str]
    digest: str
    grants: Grants = field(default_factory=Grants)
    """Permissions that an approval grants."""
    files: tuple[Path, ...] = ()
    """Files of the user that the script would read."""
    project: Path | None = None
    """The working folder, if the arguments name something in it and access is undecided."""
    may_run: bool = False
    """Whether scripts of this tree are approved already, so that only the folder is in question."""

    @property
    def parts(self) -> list[str]:
        """Return all permissions of the run, one line each."""
        from skillkit.scripts.node_packages import locked_names

        grants = self.grants
        named = ", ".join((*grants.hosts, *grants.private_hosts))
        parts = ["the whole network" if grants.network else f"the hosts {named}" if named else "no network"]
        parts += [f"the value of the variable {name}" for name in grants.env]
        parts += [f"the secret {each}, unseen" for each in grants.secrets]
        parts += [f"to read {path}" for path in (*self.files, *grants.read_paths)]
        parts += [f"to write to {path}" for path in grants.write_paths]
        parts += [f"to read {grants.project}, without its keys"] if grants.project is not None else []
        packages = [line.split("==")[0].split()[0] for line in grants.packages.splitlines() if "==" in line]
        parts += [f"the packages {', '.join(packages)}"] if packages else []
        npm = locked_names(grants.node_packages)
        parts += [f"the packages of Node.js {', '.join(npm)}"] if npm else []
        return [*parts, "and nothing else: it runs in the sandbox"]

    @property
    def command(self) -> str:
        return shlex.join([self.script, *self.arguments])


@dataclass(frozen=True, slots=True)
class ToolQuestion:
    """A call of one of the program's own tools that `allowed-tools` of the active skills omits."""

    tool: str
    arguments: Mapping[str, object]
    skills: tuple[str, ...]


Ask = Callable[[ScriptQuestion | ToolQuestion], Awaitable[Decision]]


_approved_once: ContextVar[str] = ContextVar("skillkit_approved_once", default="")
"""The digest whose scripts the running task may run."""
_shown_once: ContextVar[tuple[str, Path] | None] = ContextVar("skillkit_shown_once", default=None)
"""The digest whose scripts may access a folder in the running task, and that folder."""


class Approvals(WrappedAuthority):
    """An authority that allows scripts only after approval of the digest of the skill's whole tree.

    Other permissions are decided by `base`.
    """

    def __init__(self, base: Authority, consents: ConsentFile, hidden: tuple[str, ...] = ()) -> None:
        super().__init__(base)
        self.consents = consents
        self.hidden = hidden
        """File names hidden from scripts in every project."""
        self._conversations: set[tuple[str, str]] = set()
        self._projects: dict[tuple[str, str], Path | None] = {}
        """Decisions about the working folder, by conversation and digest; None is a refusal."""

    def grants(self, skill: SkillMetadata, digest: str, requester: Requester) -> Grants:
        """Return the permissions that an approved skill's header requests; none for other skills."""
        if self.approved(skill, digest, requester):
            return self.offered(skill, digest, requester)
        return Grants(
            run=False,
            reason=f"Scripts of the skill '{skill.name}' need the user's approval. Nothing was run. "
            f"The user can grant it with: agent config approve {skill.name}",
        )

    def offered(self, skill: SkillMetadata, digest: str, requester: Requester | None = None) -> Grants:
        """Return the permissions that scripts of this tree would get once approved."""
        grants = add_parts(Grants.as_requested(skill), digest, self.consents, hidden=self.hidden)
        once = _shown_once.get()
        said = self._projects.get(((requester or current_requester()).conversation, digest))
        folder = once[1] if once is not None and once[0] == digest else said
        if grants.project is None and folder is not None:
            return show_project(grants, folder, self.hidden)
        return grants

    def question(
        self, skill: SkillMetadata, script: str, arguments: Sequence[str], digest: str, *, folders: bool
    ) -> ScriptQuestion | None:
        """Return the question to ask before a run; None if everything is decided.

        `folders` says whether the script could be given access to a folder at all.
        """
        requester = current_requester()
        may_run = self.approved(skill, digest, requester)
        grants = self.offered(skill, digest, requester)
        project = None
        if folders and grants.project is None and (requester.conversation, digest) not in self._projects:
            project = _wanted_project(skill, arguments, requester.files)
        if project is not None:
            grants = show_project(grants, project, self.hidden)
        elif may_run:
            return None
        return ScriptQuestion(skill, script, arguments, digest, grants, requester.files, project, may_run)

    def approved(self, skill: SkillMetadata, digest: str, requester: Requester | None = None) -> bool:
        """Return whether scripts of this tree may run now."""
        if is_as_shipped(skill):
            return True  # trusted like the program's own tools
        conversation = (requester or current_requester()).conversation
        return (
            digest == _approved_once.get()
            or (conversation, digest) in self._conversations
            or digest in self.consents.digests(ConsentKind.RUN)
        )

    def decide(self, question: ScriptQuestion, decision: Decision) -> None:
        """Record the decision; "once" is valid in the running task only."""
        digest, project, name = question.digest, question.project, question.skill.canonical_name
        here = (current_requester().conversation, digest)
        match decision:
            case Decision.ONCE:
                _approved_once.set(digest)
                _shown_once.set(None if project is None else (digest, project))
            case Decision.SESSION:
                self._conversations.add(here)
                self._projects |= {} if project is None else {here: project}
            case Decision.ALWAYS:
                given = [] if question.may_run else [Consent(ConsentKind.RUN, digest, name)]
                given += [] if project is None else [project_consent(name, digest, project, self.hidden)]
                self.consents.grant(*given)
            case Decision.WITHOUT:
                _approved_once.set(digest)
                self._projects[here] = None
            case Decision.NO if question.may_run:
                self._projects[here] = None  # it runs without access to the folder
            case Decision.NO:
                pass

    def forget_once(self) -> None:
        """Revoke approvals for one run, which has ended."""
        _approved_once.set("")
        _shown_once.set(None)


def _wanted_project(skill: SkillMetadata, arguments: Sequence[str], files: tuple[Path, ...]) -> Path | None:
    """Return the working folder if arguments name something in it that the script would not see."""
    project = working_project()
    if project is None:
        return None
    unseen = with_input_names(tuple(arguments), named_inputs(files))
    return project if named_in_project(unseen, project, real_path(skill.base_dir)) else None


class ScriptApproval:
    """Asks the user to approve scripts of skills whose exact bytes are not approved yet, and records it."""

    def __init__(
        self,
        manager: SkillManager,
        approvals: Approvals,
        ask: Ask | None,
        can_show_folders: Callable[[], bool] = can_show_folders,
    ) -> None:
        self.manager = manager
        self.approvals = approvals
        self.ask = ask
        self.can_show_folders = can_show_folders

    async def ask_about(self, tool: str, arguments: Mapping[str, object]) -> None:
        """Ask if undecided. The authority decides whether the script runs: it knows the answer and the reason
        for a refusal."""
        self.approvals.forget_once()
        question = self._question(arguments)
        if question is not None and self.ask is not None:
            data: dict[str, Json] = {"tool": tool, "script": question.script}
            data |= {} if question.project is None else {"project": str(question.project)}
            asked = Event(Kind.SCRIPT_ASKED, question.skill.name, question.digest, data)
            self.manager.journal.record(asked)
            decision = await self.ask(question)
            if decision is not Decision.NO:  # a refusal is recorded where the run is declined
                given: dict[str, Json] = {**data, "decision": decision.value}
                granted = Event(Kind.SCRIPT_GRANTED, asked.skill, asked.digest, given)
                self.manager.journal.record(granted)
            self.approvals.decide(question, decision)

    def _question(self, arguments: Mapping[str, object]) -> ScriptQuestion | None:
        try:
            skill = self.manager.get_skill(named_skill(arguments))
            digest = tree_digests.with_links(skill.base_dir).digest
        except SkillsUseError:
            return None  # the tool returns the error
        given = arguments.get(Argument.ARGS)
        return self.approvals.question(
            skill,
            str(arguments.get(Argument.SCRIPT)),
            [str(each) for each in given] if isinstance(given, list) else [],
            digest,
            folders=self.ask is not None and self.can_show_folders(),
        )


class ApprovedTools(WrappedTools):
    """Tools that ask by `approval` alone, which knows whether there is something to ask."""

    def __init__(self, source: ToolSource, approval: ScriptApproval) -> None:
        super().__init__(source)
        self.approval = approval

    def wrap(self, tool: Tool, session: SkillSession) -> Tool:
        async def approved(**arguments: object) -> object:
            with in_turn(session.id, session.turn):
                await self.approval.ask_about(tool.name, {**tool.implied, **arguments})
            return await tool.handler(**arguments)

        return replace(tool, handler=approved, asks=False) if tool.asks else tool
