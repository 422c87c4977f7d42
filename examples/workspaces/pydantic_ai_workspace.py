"""Copy this file into a program that uses Pydantic AI: its workspace is in our sandbox."""

from collections.abc import Mapping

from pydantic_ai.workspaces import (
    CommandResult,
    WorkspaceCommand,
    WorkspaceOutputLimitError,
    WorkspaceRef,
    WorkspaceTimeoutError,
    WorkspaceUnavailableError,
)

from skillkit.scripts.models import Outcome
from skillkit.scripts.workspace import NOT_RUN, SandboxedWorkspace


class SandboxedWorkspaceBackend:
    """A `WorkspaceBackend` with commands; `Workspace` reads and writes files through its shell."""

    def __init__(self, workspace: SandboxedWorkspace | None = None) -> None:
        self.workspace = workspace or SandboxedWorkspace()
        self._ref: WorkspaceRef | None = None

    @property
    def ref(self) -> WorkspaceRef | None:
        return self._ref

    async def working_dir(self) -> str:
        folder = str(self.workspace.folder)
        self._ref = self._ref or WorkspaceRef(provider="skillkit", id=folder)
        return folder

    async def run(
        self,
        command: WorkspaceCommand,
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> CommandResult:
        if isinstance(command, str) is not shell:
            raise TypeError("A string goes with shell=True, a sequence of arguments without it")
        if not command:
            raise ValueError("The command is empty")
        if timeout is not None and not 0 < timeout < float("inf"):
            raise ValueError("timeout must be a positive finite number or None")
        await self.working_dir()
        result = await self.workspace.run(command, environment=env, seconds=timeout)
        stdout, stderr = (
            result.stdout.data.decode("utf-8", "replace"),
            result.stderr.data.decode("utf-8", "replace"),
        )
        if result.outcome is Outcome.TIMEOUT:
            raise WorkspaceTimeoutError(result.message, stdout=stdout, stderr=stderr)
        if result.outcome is Outcome.OUTPUT_LIMIT or result.stdout.truncated or result.stderr.truncated:
            limit = self.workspace.limits.output
            message = result.message or f"More than {limit:,} bytes of output"
            raise WorkspaceOutputLimitError(message, limit=limit, stdout=stdout, stderr=stderr)
        if result.outcome in NOT_RUN:
            raise WorkspaceUnavailableError(result.message)
        code = 1 if result.exit_code is None else result.exit_code
        return CommandResult(exit_code=code, stdout=stdout, stderr=stderr or result.message)
