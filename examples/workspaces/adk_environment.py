"""Copy this file into a program that uses ADK: commands of the model run in our sandbox."""

import asyncio
from pathlib import Path

from google.adk.environment import BaseEnvironment, ExecutionResult

from skillkit.scripts.models import Outcome
from skillkit.scripts.workspace import SandboxedWorkspace


class SandboxedEnvironment(BaseEnvironment):
    """For `SkillToolset(environment=…)` and whatever else runs commands of a model in an environment."""

    def __init__(self, workspace: SandboxedWorkspace | None = None) -> None:
        super().__init__()
        self.workspace = workspace or SandboxedWorkspace()

    @property
    def working_dir(self) -> Path:
        return self.workspace.folder

    async def initialize(self) -> None:
        await asyncio.to_thread(lambda: self.workspace.folder)
        self.is_initialized = True

    async def close(self) -> None:
        await asyncio.to_thread(self.workspace.close)
        self.is_initialized = False

    async def execute(self, command: str, *, timeout: float | None = None) -> ExecutionResult:
        result = await self.workspace.run(command, seconds=timeout)
        stderr = result.stderr.data.decode("utf-8", "replace")
        return ExecutionResult(
            exit_code=1 if result.exit_code is None else result.exit_code,
            stdout=result.stdout.data.decode("utf-8", "replace"),
            stderr="\n".join(part for part in (stderr, result.message) if part),
            timed_out=result.outcome is Outcome.TIMEOUT,
        )

    async def read_file(self, path: Path) -> bytes:
        return await asyncio.to_thread(self.workspace.read, path.as_posix())

    async def write_file(self, path: Path, content: str | bytes) -> None:
        data = content.encode() if isinstance(content, str) else content
        await asyncio.to_thread(self.workspace.write, path.as_posix(), data)
