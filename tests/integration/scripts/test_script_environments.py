"""PEP 723 dependencies: locked by hash, installed once, shared, refused where they would be dangerous."""

import asyncio
import os
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from wheels import build_source, build_wheel, fresh, index

from skillkit.core.extras import pip_install
from skillkit.core.folder_cache import FolderCache
from skillkit.scripts import EnvironmentStore, Grants, uv

__all__ = ["fresh", "index"]


def script(dependencies: str, body: str, extra: str = "") -> str:
    more = "".join(f"# {line}\n" for line in extra.splitlines())
    return f"# /// script\n# dependencies = [{dependencies}]\n{more}# ///\nimport json, sys\n{body}\n"


TELL = "import outer\nprint(json.dumps([outer.VALUE, sys.prefix]))"


def test_dependencies_are_installed_with_what_they_need(workshop, backend, index):
    workshop.skill(tell_py=script("'outer'", TELL))
    tools = workshop.tools(Grants(unsandboxed=True), sandbox=backend)
    answer = tools.script_run("demo", "tell")
    assert answer["success"], answer
    assert answer["result"][0] == "outer of inner"


@pytest.mark.slow
def test_scripts_with_the_same_lock_share_one_environment(fresh, index):
    fresh.skill("a", tell_py=script("'outer', 'inner'", TELL))
    fresh.skill("b", tell_py=script("'inner==1.0', 'outer==1.0'", TELL))
    tools = fresh.tools()
    places = {tools.script_run(name, "tell")["result"][1] for name in ("a", "b")}
    assert len(places) == 1


@pytest.mark.slow
def test_nothing_installed_beside_skillkit_is_visible(workshop):
    workshop.skill(
        tell_py="import importlib.util, json; print(json.dumps(importlib.util.find_spec('yaml') is None))"
    )
    assert workshop.tools().script_run("demo", "tell")["result"] is True


@pytest.mark.slow
def test_progress_is_said_while_resolving_and_only_then(fresh, index, capfd):
    said = []
    fresh.skill(tell_py=script("'outer'", TELL))
    tools = fresh.tools(progress=said.append)
    tools.script_run("demo", "tell")
    assert said == ["Resolving the dependencies of tell.py: outer"]
    tools.script_run("demo", "tell")
    assert len(said) == 1
    from skillkit.scripts.environments import say_on_stderr

    say_on_stderr("a line")
    assert capfd.readouterr().err == "a line\n"


@pytest.mark.slow
def test_a_warm_run_never_touches_the_network(fresh, index, monkeypatch):
    fresh.skill(tell_py=script("'outer'", TELL))
    first = fresh.tools().script_run("demo", "tell")
    assert first["success"], first
    for package in index.iterdir():
        package.unlink()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://127.0.0.1:{listener.getsockname()[1]}/simple")
        assert fresh.tools().script_run("demo", "tell")["result"] == first["result"]
        listener.settimeout(0)
        with pytest.raises(BlockingIOError):
            listener.accept()


@pytest.mark.slow
def test_a_cold_run_with_a_dead_index_says_what_is_missing(fresh, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/simple"
    monkeypatch.setenv("UV_DEFAULT_INDEX", address)
    fresh.skill(tell_py=script("'outer'", TELL))
    answer = fresh.tools().script_run("demo", "tell")
    assert answer["error"] == "dependency_failed"
    assert "The dependencies of tell.py (outer) cannot be installed" in answer["message"]


@pytest.mark.slow
def test_environments_cannot_be_written_by_anybody(fresh, index):
    fresh.skill(tell_py=script("'outer'", TELL))
    prefix = Path(fresh.tools().script_run("demo", "tell")["result"][1])
    assert prefix.is_relative_to(fresh.home)
    files = [path for path in prefix.rglob("*") if path.is_file() and not path.is_symlink()]
    writable = [path.name for path in files if path.stat().st_mode & 0o222]
    assert writable == ["used"]
    assert not prefix.joinpath("lib").stat().st_mode & stat.S_IWUSR


@pytest.mark.slow
def test_a_package_runs_nothing_on_this_machine(fresh, index):
    trace = fresh.folder / "trace"
    code = f"import pathlib; pathlib.Path({str(trace)!r}).write_text('ran')"
    build_wheel(index, "evil", {"evil.pth": code + "\n", "evil.py": code, "sitecustomize.py": code})
    fresh.skill(a_py=script("'evil'", "print(1)"), b_py=script("'evil', 'inner'", "print(2)"))
    tools = fresh.tools()
    for name in ("a", "b", "a"):
        answer = tools.script_run("demo", name)
        assert answer["meta"]["exit_code"] is not None
    assert not trace.exists()


@pytest.mark.slow
def test_a_package_that_changed_after_it_was_locked_is_refused(fresh, index):
    fresh.skill(tell_py=script("'inner'", "print(1)"))
    tools = fresh.tools()
    assert tools.script_run("demo", "tell")["success"]
    (fresh.home / "environments").rename(fresh.home / "old")
    (fresh.home / "environments").mkdir()
    (fresh.home / "old" / "locks").rename(fresh.home / "environments" / "locks")
    build_wheel(index, "inner", {"inner.py": "VALUE = 'swapped'"})
    answer = tools.script_run("demo", "tell")
    assert answer["error"] == "dependency_failed"
    assert "hash" in answer["message"].lower()


@pytest.mark.slow
def test_building_from_source_is_refused_unless_the_user_allowed_it(fresh, index, tmp_path):
    trace = tmp_path / "built"
    build_source(index, "fromsource", trace)
    fresh.skill(tell_py=script("'fromsource'", "import fromsource; print(json.dumps(fromsource.VALUE))"))
    answer = fresh.tools().script_run("demo", "tell")
    assert answer["error"] == "dependency_failed"
    assert "Building from source would run the package's code" in answer["message"]
    assert not trace.exists()
    allowed = fresh.tools(Grants(source_builds=True)).script_run("demo", "tell")
    assert allowed["result"] == "from source", allowed
    assert trace.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dependencies", "extra"),
    [
        ("'inner @ {url}'", ""),
        ("'inner'", "[tool.uv]\nfind-links = ['{folder}']"),
        ("'inner'", "[[tool.uv.index]]\nurl = 'file://{folder}'"),
        ("'inner'", "[tool.uv.sources]\ninner = {{ path = '{wheel}' }}"),
    ],
)
def test_other_sources_are_refused_unless_the_user_allowed_them(fresh, index, dependencies, extra):
    wheel = index / "inner-1.0-py3-none-any.whl"
    fill = {"url": wheel.as_uri(), "folder": index, "wheel": wheel}
    text = script(
        dependencies.format(**fill), "import inner; print(json.dumps(inner.VALUE))", extra.format(**fill)
    )
    fresh.skill(tell_py=text)
    answer = fresh.tools().script_run("demo", "tell")
    assert answer["error"] == "dependency_failed"
    assert "unless you allow other sources" in answer["message"]
    allowed = fresh.tools(Grants(other_sources=True)).script_run("demo", "tell")
    assert allowed.get("result") == "inner", allowed


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ("# requires-python = '>=4'", "requires Python >=4; no matching interpreter found"),
        ("# dependencies = [", "not valid TOML"),
        ("# dependencies = ['a b']", "not a dependency"),
    ],
)
def test_what_cannot_be_understood_or_had_is_said(workshop, block, said):
    workshop.skill(tell_py=f"# /// script\n{block}\n# ///\nprint(1)")
    answer = workshop.tools().script_run("demo", "tell")
    assert answer["error"] == "dependency_failed"
    assert said in answer["message"]


@pytest.mark.slow
def test_a_configuration_beside_our_temporary_folder_is_not_obeyed(fresh, index, tmp_path):
    """In a shared folder for temporary files it is anybody's."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    build_wheel(theirs, "inner", {"inner.py": "VALUE = 'theirs'"}, version="9.0")
    (fresh.folder / "uv.toml").write_text(f'find-links = ["{theirs}"]\n')
    fresh.skill(tell_py=script("'outer'", TELL))
    answer = fresh.tools().script_run("demo", "tell")
    assert answer["success"], answer
    assert answer["result"][0] == "outer of inner"


@pytest.mark.slow
@pytest.mark.parametrize("program", ["PIP", "UV"])
def test_an_extra_index_does_not_outrank_the_first_one(fresh, tmp_path, monkeypatch, program):
    for name, version in (("first", "1.0"), ("extra", "99.0")):
        for package in ("inner", "only") if name == "extra" else ("inner",):
            folder = tmp_path / name / package
            folder.mkdir(parents=True)
            wheel = build_wheel(folder, package, {f"{package}.py": f"VALUE = '{name}'"}, version=version)
            (folder / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>')
    monkeypatch.setenv(f"{program}_INDEX_URL", (tmp_path / "first").as_uri())
    monkeypatch.setenv(f"{program}_EXTRA_INDEX_URL", (tmp_path / "extra").as_uri())
    tell = "import inner, only\nprint(json.dumps([inner.VALUE, only.VALUE]))"
    fresh.skill(tell_py=script("'inner', 'only'", tell))
    answer = fresh.tools().script_run("demo", "tell")
    assert answer.get("result") == ["first", "extra"], answer


@pytest.mark.slow
@pytest.mark.parametrize("cache", ["a link", "open to everybody"])
def test_a_cache_that_others_may_have_filled_is_not_used(fresh, index, tmp_path, cache):
    folder = fresh.home / "environments" / "uv-cache"
    folder.parent.mkdir()
    if cache == "a link":
        folder.symlink_to(tmp_path)
    else:
        folder.mkdir()
        (folder / "poisoned").touch()
        folder.chmod(0o777)
    fresh.skill(tell_py=script("'outer'", TELL))
    answer = fresh.tools().script_run("demo", "tell")
    if cache == "a link":
        assert "uv-cache is a link or belongs to another user" in answer["message"]
    else:
        assert answer["success"], answer
        assert not (folder / "poisoned").exists()


@pytest.mark.slow
def test_a_missing_uv_is_said(fresh, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setitem(sys.modules, "uv", None)
    uv.find_uv.cache_clear()
    try:
        fresh.skill(tell_py=script("'inner'", "print(1)"), plain_py="print(1)")
        tools = fresh.tools()
        answer = tools.script_run("demo", "tell")
        assert answer["error"] == "dependency_failed"
        assert pip_install("scripts") in answer["message"]
        assert tools.script_run("demo", "plain")["result"] == 1
    finally:
        uv.find_uv.cache_clear()


@pytest.mark.slow
async def test_many_first_runs_at_once_build_one_environment(fresh, index):
    fresh.skill(tell_py=script("'outer'", TELL))
    said = []
    tools = fresh.tools(concurrency=6, progress=said.append)
    answers = await asyncio.gather(*(tools.ascript_run("demo", "tell") for _ in range(6)))
    assert len({answer["result"][1] for answer in answers}) == 1
    assert len(said) == 1


@pytest.mark.slow
async def test_cancelling_while_resolving_stops_uv(fresh, monkeypatch):
    asked = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def never_answer():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            asked.set()
            connection.recv(1)
            connection.recv(100_000)
            held.append(connection)

        held = []
        thread = threading.Thread(target=never_answer, daemon=True)
        thread.start()
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://127.0.0.1:{listener.getsockname()[1]}/simple")
        fresh.skill(tell_py=script("'outer'", TELL))
        task = asyncio.create_task(fresh.tools().ascript_run("demo", "tell"))
        await asyncio.to_thread(asked.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        thread.join(60)
        for connection in held:
            connection.close()


@pytest.mark.slow
def test_unused_environments_are_collected_and_used_ones_stay(fresh, index):
    fresh.skill(a_py=script("'inner'", "print(json.dumps(sys.prefix))"), b_py=script("'outer'", TELL))
    tools = fresh.tools()
    unused = Path(tools.script_run("demo", "a")["result"])
    used = Path(tools.script_run("demo", "b")["result"][1])
    store = EnvironmentStore(fresh.home / "environments")
    assert store.collect() == []
    os.utime(unused / "used", (1, 1))
    assert store.collect() == [unused]
    assert not unused.exists()
    assert used.exists()
    os.utime(used / "used", (1, 1))
    with store.in_use(Path("b.py"), _metadata("outer")) as environment:
        assert environment.folder == used
        assert (used / "used").stat().st_mtime > 1
        assert store.collect(older_than=-1) == []
    assert store.collect(older_than=-1) == [used]
    assert tools.script_run("demo", "a")["success"]


@pytest.mark.slow
def test_environments_that_vanish_between_two_looks_are_built_again(fresh, index, monkeypatch):
    store = EnvironmentStore(fresh.home / "environments", progress=lambda line: None)
    build = FolderCache.build
    vanished = []

    def build_and_lose_once(self, *arguments):
        build(self, *arguments)
        if not vanished:
            vanished.append(store.collect(older_than=-1))

    monkeypatch.setattr(FolderCache, "build", build_and_lose_once)
    with store.in_use(Path("x.py"), _metadata("inner")) as environment:
        assert vanished == [[environment.folder]]
        assert environment.program.exists()


def _metadata(dependency):
    from skillkit.scripts.inline_metadata import InlineMetadata

    return InlineMetadata(dependencies=(dependency,))


@pytest.mark.slow
def test_collecting_is_a_command(tmp_path):
    def run(*arguments):
        command = [sys.executable, "-m", "skillkit.scripts", *arguments]
        environment = {**os.environ, "AGENT_HOME": str(tmp_path)}
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    assert run("gc", "--days", "1").stdout == "Removed 0 environments\n"
    said = run("sandbox")
    assert "sandbox-exec: it needs macOS" in said.stdout
    assert said.returncode == (0 if ": holds" in said.stdout else 1)
