"""Other frameworks' workspaces on our sandbox: commands that reach nothing, files that last between them."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from workshop import shared_home

from skillkit.core.grants import Limits
from skillkit.scripts import LocalRunner, Outcome
from skillkit.scripts.workspace import SandboxedWorkspace

__all__ = ["shared_home"]
pytestmark = pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not installed")


@pytest.fixture
def workspace(shared_home: Path) -> Iterator[SandboxedWorkspace]:
    runner = LocalRunner(shared_home, sandbox="bwrap")
    made = SandboxedWorkspace(runner)
    yield made
    made.close()
    runner.close()


async def test_a_workspace_lasts_from_one_command_to_the_next_and_holds(
    workspace: SandboxedWorkspace, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of the user")
    made = await workspace.run("mkdir -p a/b && echo one > a/b/f && pwd")
    assert (made.exit_code, made.stdout.data.decode()) == (0, f"{workspace.folder}\n"), made
    workspace.write("a/b/f", b"two\n")
    again = await workspace.run(f"cat a/b/f && echo three >> a/b/f; cat {secret}; rm -r a/b && exit 7")
    assert (again.exit_code, again.stdout.data) == (7, b"two\n"), again.stderr.data
    assert not (workspace.folder / "a" / "b").exists()
    alone = await workspace.run("cat < /dev/tcp/127.0.0.1/22")
    assert alone.exit_code != 0


async def test_no_link_leads_the_host_out_of_a_workspace(
    workspace: SandboxedWorkspace, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "key").write_text("secret")
    links = f"ln -s {outside} out; ln -s {outside}/key key; mkfifo pipe; ln -s . here"
    assert (await workspace.run(links)).exit_code == 0
    for path in ("out/key", "key", "pipe", "../outside/key", str(outside / "key")):
        with pytest.raises(OSError, match=r"."):
            workspace.read(path)
    for path in ("out/new", "../new", str(outside / "new")):
        with pytest.raises(OSError, match=r"."):
            workspace.write(path, b"x")
    workspace.write("key", b"mine")  # the link itself gives way
    assert (outside / "key").read_text() == "secret"
    assert workspace.read("key") == b"mine"
    assert os.listdir(outside) == ["key"]


async def test_files_of_one_new_folder_can_be_written_at_the_same_time(workspace: SandboxedWorkspace) -> None:
    """As ADK does it: it hands over all files of a skill at once."""
    paths = [f"{folder}/a/b/{name}.md" for folder in range(30) for name in range(8)]
    await asyncio.gather(*(asyncio.to_thread(workspace.write, path, b"text") for path in paths))
    assert all(workspace.read(path) == b"text" for path in paths)


async def test_limits_and_cancelling_hold(workspace: SandboxedWorkspace) -> None:
    assert (await workspace.run("sleep 60", seconds=0.2)).outcome is Outcome.TIMEOUT
    started = workspace.folder / "started"
    os.mkfifo(started)
    started.chmod(0o666)
    task = asyncio.create_task(workspace.run("echo > started; sleep 60"))
    await asyncio.to_thread(started.read_bytes)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await workspace.run("echo \0")).outcome is Outcome.REFUSED


async def test_pydantic_ai(workspace: SandboxedWorkspace) -> None:
    workspaces = pytest.importorskip("pydantic_ai.workspaces")
    from pydantic_ai_workspace import SandboxedWorkspaceBackend

    backend = SandboxedWorkspaceBackend(workspace)
    assert isinstance(backend, workspaces.WorkspaceBackend)
    assert isinstance(backend, workspaces.SupportsCommands)
    assert backend.ref is None
    used = workspaces.Workspace(backend)
    await used.write_bytes("notes/a.txt", b"hello \xff\n")
    ran = await used.run(["cat", "notes/a.txt"])
    assert (ran.exit_code, ran.stdout) == (0, "hello \ufffd\n")
    assert backend.ref.id == str(workspace.folder)
    assert (await used.run(["no-such-program"])).exit_code == 127
    assert (await used.run('echo "$WHO" >&2; exit 3', shell=True, env={"WHO": "me"})).stderr == "me\n"
    assert await used.read_bytes("notes/a.txt") == b"hello \xff\n"
    with pytest.raises(TypeError):
        await backend.run("a string")
    with pytest.raises(ValueError, match="positive"):
        await backend.run(["true"], timeout=-1)
    with pytest.raises(workspaces.WorkspaceTimeoutError) as late:
        await used.run("echo early; sleep 60", shell=True, timeout=0.5)
    assert late.value.stdout == "early\n"
    small = SandboxedWorkspaceBackend(SandboxedWorkspace(workspace.runner, limits=Limits(output=1000)))
    with pytest.raises(workspaces.WorkspaceOutputLimitError):
        await small.run(["seq", "1", "9999"])
    small.workspace.close()


async def test_adk(workspace: SandboxedWorkspace) -> None:
    pytest.importorskip("google.adk.environment", reason="ADK is not installed: dev.py columns peers adk")
    from adk_environment import SandboxedEnvironment

    environment = SandboxedEnvironment(workspace)
    await environment.initialize()
    await environment.initialize()
    assert environment.is_initialized
    assert environment.working_dir.is_absolute()
    await environment.write_file(Path("deep/down/f.txt"), "text")
    done = await environment.execute("cat deep/down/f.txt; echo bad >&2; exit 4")
    assert (done.exit_code, done.stdout, done.stderr, done.timed_out) == (4, "text", "bad\n", False)
    assert await environment.read_file(environment.working_dir / "deep/down/f.txt") == b"text"
    with pytest.raises(FileNotFoundError):
        await environment.read_file(Path("nowhere"))
    assert (await environment.execute("sleep 60", timeout=0.2)).timed_out
    await environment.close()
    await environment.close()


async def test_adk_runs_scripts_of_its_own_skills_in_it(
    workspace: SandboxedWorkspace, tmp_path: Path
) -> None:
    pytest.importorskip("google.adk.environment", reason="ADK is not installed: dev.py columns peers adk")
    from adk_environment import SandboxedEnvironment
    from google.adk.skills import load_skill_from_dir
    from google.adk.tools.skill_toolset import SkillToolset

    skill = tmp_path / "greeter"
    (skill / "scripts").mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: greeter\ndescription: Greets.\n---\nRun scripts/hi.py.\n")
    (skill / "scripts" / "hi.py").write_text("import os; print('hi', os.path.exists('/root'))")
    toolset = SkillToolset([load_skill_from_dir(skill)], environment=SandboxedEnvironment(workspace))
    [run] = [tool for tool in await toolset.get_tools() if tool.name == "run_skill_script"]

    class Context:
        agent_name = "me"
        state: dict[str, object] = {}  # noqa: RUF012
        invocation_id = "1"

    arguments = {
        "skill_name": "greeter",
        "file_path": "scripts/hi.py",
        "command": "python3 skills/greeter/scripts/hi.py",
    }
    answer = await run.run_async(args=arguments, tool_context=Context())
    assert (answer["exit_code"], answer["stdout"]) == (0, "hi False\n"), answer


async def test_deepagents(workspace: SandboxedWorkspace) -> None:
    pytest.importorskip("deepagents", reason="deepagents is not installed: dev.py columns peers deepagents")
    from deepagents_backend import SandboxedBackend

    backend = SandboxedBackend(workspace)
    folder = workspace.folder

    def use() -> None:
        assert backend.write(f"{folder}/src/a.py", "one = 1\n").error is None
        assert backend.read(f"{folder}/src/a.py").file_data["content"].rstrip() == "one = 1"
        assert backend.edit(f"{folder}/src/a.py", "1", "2").occurrences == 1
        long = "x" * 60_000
        assert backend.edit(f"{folder}/src/a.py", "one = 2", f"one = '{long}'").occurrences == 1
        assert workspace.read("src/a.py") == f"one = '{long}'\n".encode()
        assert [found["path"] for found in backend.grep("one", f"{folder}/src").matches] == [
            f"{folder}/src/a.py"
        ]
        assert [entry["path"] for entry in backend.ls(str(folder)).entries] == [f"{folder}/src"]
        said = backend.execute("echo out; echo err >&2; exit 5")
        assert (said.output, said.exit_code) == ("out\nerr\n", 5)
        [gone, folder_itself] = backend.download_files([f"{folder}/none", f"{folder}/src"])
        assert (gone.error, folder_itself.error) == ("file_not_found", "is_directory")
        [refused] = backend.upload_files([("/etc/evil", b"x")])
        assert refused.error == "permission_denied"

    await asyncio.to_thread(use)
    assert (await backend.aexecute("echo later")).output == "later\n"
