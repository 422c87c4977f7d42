"""Copy this file into a program with Agent Framework's own skills: their scripts run in our sandbox."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit.core.authority import Authority, DefaultAuthority, current_requester
from skillkit.core.digest_memo import tree_digests
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.parser import SkillParser
from skillkit.integrations.agent_framework_source import command_line
from skillkit.scripts.catalogue import find_script
from skillkit.scripts.exceptions import RefusedRequestError
from skillkit.scripts.granted_requests import run_request
from skillkit.scripts.models import ScriptRunner
from skillkit.scripts.payloads import Payload, failure, run_payload
from skillkit.scripts.runners import default_runner

if TYPE_CHECKING:
    from agent_framework import FileSkill, FileSkillScript


class SandboxedScriptRunner:
    """A `SkillScriptRunner` for `SkillsProvider.from_paths(…, script_runner=…)`.

    `authority` says what each tree is granted (unless given, a sandbox with nothing in it), `runner`
    where scripts run (unless given, where SKILLKIT_RUNNER says).
    """

    def __init__(self, runner: ScriptRunner | None = None, authority: Authority | None = None) -> None:
        self._runner = runner or default_runner()
        self._authority = authority or DefaultAuthority()

    async def __call__(
        self,
        skill: "FileSkill",
        script: "FileSkillScript",
        args: dict[str, Any] | list[str] | None = None,
    ) -> Payload:
        """Run one script; everything that can go wrong is in the answer."""
        try:
            folder = Path(skill.path)
            metadata = SkillParser().parse_skill_file(folder / "SKILL.md")
            relative = Path(script.full_path).relative_to(folder).as_posix()
            found = find_script(metadata, relative)
            if found is None:
                return failure("not_found", f"'{relative}' is no script of '{metadata.name}'")
            digest = tree_digests.with_links(folder).digest
            grants = self._authority.grants(metadata, digest, current_requester())
            if not grants.run:
                return failure("permission_denied", grants.reason or "Its scripts are not allowed to run")
            arguments = command_line(args)
            request = run_request(metadata, found, digest, grants, arguments, as_json=False)
        except RefusedRequestError as error:
            return failure(error.code, str(error))
        except (SkillsUseError, ValueError) as error:
            return failure("execution_failed", str(error))
        return run_payload(found.name, request, await self._runner.arun(request), as_json=False)
