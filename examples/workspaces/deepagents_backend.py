"""Copy this file into a program that uses deepagents: its commands and files are in our sandbox."""

import asyncio

from deepagents.backends.protocol import (
    EditResult,
    ExecuteResponse,
    FileDownloadResponse,
    FileUploadResponse,
)
from deepagents.backends.sandbox import BaseSandbox

from skillkit.scripts.models import ScriptResult
from skillkit.scripts.workspace import SandboxedWorkspace

_IN_A_COMMAND = 40_000
"""Bytes of an edit that fit into a command; the framework puts more into /tmp, which no command keeps."""
_CODES: dict[type[OSError], str] = {
    FileNotFoundError: "file_not_found",
    IsADirectoryError: "is_directory",
    NotADirectoryError: "invalid_path",
    PermissionError: "permission_denied",
}


class SandboxedBackend(BaseSandbox):
    """For `create_deep_agent(backend=…)`; `BaseSandbox` makes its file tools of commands."""

    def __init__(self, workspace: SandboxedWorkspace | None = None) -> None:
        self.workspace = workspace or SandboxedWorkspace()

    @property
    def id(self) -> str:
        return f"skillkit:{self.workspace.folder.parent.name}"

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        return _response(asyncio.run(self.workspace.run(command, seconds=timeout or None)))

    async def aexecute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        return _response(await self.workspace.run(command, seconds=timeout or None))

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        return [FileUploadResponse(path=path, error=self._upload(path, data)) for path, data in files]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return [self._download(path) for path in paths]

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        if len(old_string.encode()) + len(new_string.encode()) <= _IN_A_COMMAND:
            return super().edit(file_path, old_string, new_string, replace_all)
        return self._replace(file_path, old_string, new_string, replace_all=replace_all)

    async def aedit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        return await asyncio.to_thread(self.edit, file_path, old_string, new_string, replace_all)

    def _replace(self, path: str, old: str, new: str, *, replace_all: bool) -> EditResult:
        try:
            text = self.workspace.read(path).decode()
            if old not in text:
                old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
            count = text.count(old)
            if not count or (count > 1 and not replace_all):
                found = f"{count} times" if count else "nowhere"
                return EditResult(error=f"Error editing file '{path}': the old text is in it {found}")
            self.workspace.write(path, text.replace(old, new).encode())
        except (OSError, UnicodeDecodeError) as error:
            return EditResult(error=f"Error editing file '{path}': {error}")
        return EditResult(path=path, occurrences=count)

    def _upload(self, path: str, data: bytes) -> str | None:
        try:
            self.workspace.write(path, data)
        except OSError as error:
            return _CODES.get(type(error), str(error))
        return None

    def _download(self, path: str) -> FileDownloadResponse:
        try:
            return FileDownloadResponse(path=path, content=self.workspace.read(path))
        except OSError as error:
            return FileDownloadResponse(path=path, error=_CODES.get(type(error), str(error)))


def _response(result: ScriptResult) -> ExecuteResponse:
    said = result.stdout.data + result.stderr.data
    return ExecuteResponse(
        output=said.decode("utf-8", "replace") + result.message,
        exit_code=result.exit_code,
        truncated=result.stdout.truncated or result.stderr.truncated,
    )
