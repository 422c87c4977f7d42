"""Whether a skill's scripts may run: the user's word about exact bytes, never the conversation's."""

import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from skillkit.core.authority import Authority, Requester, WrappedAuthority, current_requester
from skillkit.core.digest_memo import tree_digests
from skillkit.core.disk import real_path
from skillkit.core.events import Event, Json, Kind
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.grants import Grants
from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata
from skillkit.core.shipped import is_as_shipped
from skillkit.install.consents import (
    Consent,
    ConsentFile,
    ConsentKind,
    add_parts,
    project_consent,
    show_project,
)
from skillkit.scripts.inputs import named_in_project, named_inputs, with_input_names, working_project
from skillkit.scripts.node_packages import locked_names
from skillkit.scripts.runners import can_show_folders


class Decision(str, Enum):
    """What the user says when asked."""

    ONCE = "once"
    SESSION = "session"
    ALWAYS = "always"
    NO = "no"
    WITHOUT = "without"
    """Once, without the folder that the question names."""


@dataclass(frozen=True, slots=True)
class ScriptQuestion:
    """A run that waits for the user's word."""

    skill: SkillMetadata
    script: str
    arguments: Sequence[str]
    digest: str
    grants: Grants = field(default_factory=Grants)
    """What a yes gives it."""
    files: tuple[Path, ...] = ()
    """Which of the user's files it would read."""
    project: Path | None = None
    """The working folder, where the arguments name something in it and nothing was said about it yet."""
    may_run: bool = False
    """Whether scripts of this tree may run already, so that only the folder is asked for."""

    @property
    def parts(self) -> list[str]:
        """Everything that the run gets, one line each."""
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


Ask = Callable[[ScriptQuestion], Awaitable[Decision]]


_approved_once: ContextVar[str] = ContextVar("skillkit_approved_once", default="")
"""The digest that the running task may run a script of."""
_shown_once: ContextVar[tuple[str, Path] | None] = ContextVar("skillkit_shown_once", default=None)
"""The digest whose scripts the running task may show a folder."""


class Approvals(WrappedAuthority):
    """An authority under which scripts run only after a yes to the digest of the skill's whole tree.

    What else may happen with a skill is decided by `base`.
    """

    def __init__(self, base: Authority, consents: ConsentFile, hidden: tuple[str, ...] = ()) -> None:
        super().__init__(base)
        self.consents = consents
        self.hidden = hidden
        """Names that scripts see in no project."""
        self._conversations: set[tuple[str, str]] = set()
        self._projects: dict[tuple[str, str], Path | None] = {}
        """What was said about the working folder, by conversation and digest; None is a no."""

    def grants(self, skill: SkillMetadata, digest: str, requester: Requester) -> Grants:
        """Return what the header of an approved skill asks for; nothing runs of one that is not."""
        if self.approved(skill, digest, requester):
            return self.offered(skill, digest, requester)
        return Grants(
            run=False,
            reason=f"Scripts of the skill '{skill.name}' need the user's approval. Nothing was run. "
            f"The user can grant it with: agent config approve {skill.name}",
        )

    def offered(self, skill: SkillMetadata, digest: str, requester: Requester | None = None) -> Grants:
        """Return what scripts of this tree get once they may run."""
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
        """Return what the user has to be asked before a run, None when all was said.

        `folders` tells whether a folder could be shown to the script at all.
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
            return True  # as much a part of the program as its own tools
        conversation = (requester or current_requester()).conversation
        return (
            digest == _approved_once.get()
            or (conversation, digest) in self._conversations
            or digest in self.consents.digests(ConsentKind.RUN)
        )

    def decide(self, question: ScriptQuestion, decision: Decision) -> None:
        """Remember the user's answer; "once" counts in the running task and nowhere else."""
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
                self._projects[here] = None  # it runs, and does not see the folder
            case Decision.NO:
                pass

    def forget_once(self) -> None:
        """End what was allowed once: the run is over."""
        _approved_once.set("")
        _shown_once.set(None)


def _wanted_project(skill: SkillMetadata, arguments: Sequence[str], files: tuple[Path, ...]) -> Path | None:
    """The working folder, if arguments name something in it that the script would not see."""
    project = working_project()
    if project is None:
        return None
    unseen = with_input_names(tuple(arguments), named_inputs(files))
    return project if named_in_project(unseen, project, real_path(skill.base_dir)) else None


class ScriptApproval:
    """Asks the user about a script of a skill whose exact bytes were not approved yet."""

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

    async def ask_about(self, tool: str, arguments: Mapping[str, object]) -> bool:
        """Ask where there is no word yet. Whether the script runs is then for the authority to say: it
        knows the user's answer, and why not."""
        self.approvals.forget_once()
        question = self._question(arguments)
        if question is not None and self.ask is not None:
            data: dict[str, Json] = {"tool": tool, "script": question.script}
            data |= {} if question.project is None else {"project": str(question.project)}
            asked = Event(Kind.SCRIPT_ASKED, question.skill.name, question.digest, data)
            self.manager.journal.record(asked)
            decision = await self.ask(question)
            if decision is not Decision.NO:  # a no is written down by whoever does not run the script
                given: dict[str, Json] = {**data, "decision": decision.value}
                granted = Event(Kind.SCRIPT_GRANTED, asked.skill, asked.digest, given)
                self.manager.journal.record(granted)
            self.approvals.decide(question, decision)
        return True

    def _question(self, arguments: Mapping[str, object]) -> ScriptQuestion | None:
        try:
            skill = self.manager.get_skill(str(arguments.get("skill_id")))
            digest = tree_digests.with_links(skill.base_dir).digest
        except SkillsUseError:
            return None  # the tool answers what is wrong
        given = arguments.get("args")
        return self.approvals.question(
            skill,
            str(arguments.get("script_name")),
            [str(each) for each in given] if isinstance(given, list) else [],
            digest,
            folders=self.ask is not None and self.can_show_folders(),
        )
