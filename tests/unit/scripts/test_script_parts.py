"""Small parts of running a script, each on its own."""

import os
import pickle
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from skillkit.core import pythons
from skillkit.core.grants import Limits
from skillkit.core.programs import find_program
from skillkit.core.pythons import satisfies
from skillkit.scripts.capture import Stream
from skillkit.scripts.exceptions import DependencyError
from skillkit.scripts.interpreters import find_interpreter, folders_of
from skillkit.scripts.models import Captured, Outcome, ScriptRequest, ScriptResult
from skillkit.scripts.sandbox import sandbox_exec, seccomp
from skillkit.scripts.sandbox.backend import Confinement, Mount, folder_size
from skillkit.scripts.sandbox.supervisor import remove_tree
from skillkit.scripts.uv import find_uv, pip_settings, uv_settings


@pytest.mark.parametrize("chunks", [[b"abc"], [b"a", b"b", b"c"], [b"", b"abc", b""]])
def test_a_stream_within_its_limit_is_kept_whole(chunks):
    stream = Stream(10)
    for chunk in chunks:
        stream.add(chunk)
    captured = stream.captured()
    assert (captured.data, captured.total, captured.truncated) == (b"abc", 3, False)


@pytest.mark.parametrize("size", [1, 3, 7, 64])
def test_a_longer_stream_keeps_its_head_and_tail(size):
    text = bytes(range(256)) * 4
    stream = Stream(10)
    for start in range(0, len(text), size):
        stream.add(text[start : start + size])
    captured = stream.captured()
    assert captured.head == text[:5]
    assert captured.tail == text[-5:]
    assert captured.total == 1024
    assert captured.data == text[:5] + "\n… 1014 bytes left out …\n".encode() + text[-5:]
    assert captured.ending(3) == text[-3:]
    assert captured.ending(8) == text[:5][-3:] + text[-5:]


@pytest.mark.parametrize(
    ("requires", "met"),
    [
        ("", True),
        (">=3.11", True),
        (">=3.11,<4", True),
        (">=3.12", False),
        ("<3.11.7", False),
        ("<=3.11.7", True),
        (">3.11.6", True),
        ("==3.11.*", True),
        ("!=3.11.*", False),
        ("==3.11.7", True),
        ("!=3.11.7", False),
        ("~=3.10", True),
        ("~=3.11.4", True),
        ("~=3.10.1", False),
        ("python", False),
    ],
)
def test_requires_python_is_understood(requires, met):
    assert satisfies("3.11.7", requires) is met


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("network", [True, False])
@pytest.mark.parametrize("own_namespaces", [True, False])
def test_every_jump_of_a_filter_lands_inside_it_and_every_path_returns(machine, network, own_namespaces):
    program = seccomp.build_filter(network=network, own_namespaces=own_namespaces, machine=machine)
    instructions = list(struct.iter_unpack("=HBBI", program))
    assert len(instructions) < 4096
    for position, (code, yes, no, _) in enumerate(instructions):
        if code & 0x07 == 0x05:
            assert position + 1 + max(yes, no) < len(instructions)
    assert instructions[-1][0] == 0x06


def test_the_profile_for_macos_denies_all_and_names_what_is_allowed(tmp_path):
    confinement = Confinement(
        ("/usr/bin/true",),
        tmp_path,
        {},
        Limits(),
        read_only=(Mount(tmp_path / 'a"b', tmp_path / 'a"b'),),
        writable=(Mount(tmp_path / "out", tmp_path / "out"),),
    )
    profile = sandbox_exec.profile(confinement, "/work")
    assert profile.startswith("(version 1)\n(deny default)")
    assert f'(allow file-read* (subpath "{tmp_path}/a\\"b"))' in profile
    assert '(allow file-write* (subpath "/work"))' in profile
    assert f'(allow file-write* (subpath "{tmp_path}/out"))' in profile
    assert "network" not in profile
    online = Confinement(("/usr/bin/true",), tmp_path, {}, Limits(), network=True)
    assert "(allow network-outbound" in sandbox_exec.profile(online, "/work")
    assert sandbox_exec.SandboxExec().missing() == "it needs macOS"


@pytest.mark.parametrize(
    ("script", "first", "kind"),
    [
        ("a.py", b"", "python"),
        ("a.py", b"#!/bin/sh\n", "sh"),
        ("a.sh", b"#!/usr/bin/env -S python3 -u\n", "python"),
        ("a", b"#!/usr/bin/env FOO=1 sh\n", "sh"),
        ("a.sh", b"#!'\n", "sh"),
        ("a.sh", b"#!\xff\xfe\n", "sh"),
    ],
)
def test_the_first_line_then_the_suffix_names_the_interpreter(script, first, kind):
    assert find_interpreter(script, first).kind == kind


def test_an_interpreter_that_is_not_here_is_named(tmp_path):
    with pytest.raises(DependencyError, match=r"'node', which is not installed; install Node\.js"):
        find_interpreter("a.js", b"", {"PATH": str(tmp_path)})
    with pytest.raises(DependencyError, match=r"bun, deno, tsx or Node.js 22.6"):
        find_interpreter("a.ts", b"#!/usr/bin/env node\n", {"PATH": str(tmp_path)})
    with pytest.raises(DependencyError, match="install bun"):
        find_interpreter("a.ts", b"", {"PATH": str(tmp_path)})
    with pytest.raises(DependencyError, match="neither a first line"):
        find_interpreter("a.txt", b"")


@pytest.mark.parametrize(
    ("answer", "command"),
    [
        ("v22.7.0", ["--experimental-strip-types", "--no-warnings"]),
        ("v24.1.0", []),
        ("v20.1.0", None),
        ("", None),
    ],
)
def test_node_runs_typescript_from_22_6_on(tmp_path, answer, command):
    node = tmp_path / "node"
    node.write_text(f"#!/bin/sh\necho {answer}\n")
    node.chmod(0o755)
    if command is None:
        with pytest.raises(DependencyError):
            find_interpreter("a.ts", b"", {"PATH": str(tmp_path)})
    else:
        assert list(find_interpreter("a.ts", b"", {"PATH": str(tmp_path)}).command) == [str(node), *command]
    deno = tmp_path / "deno"
    deno.write_text("")
    deno.chmod(0o755)
    found = find_interpreter("a.ts", b"", {"PATH": str(tmp_path)})
    assert found.command == (str(deno), "run", "-A", "--no-prompt")


def test_an_installation_is_granted_and_a_home_folder_never(own_home):
    assert folders_of(Path("/usr/bin/env")) == ()
    tool = own_home / "tools" / "node-22" / "bin" / "node"
    assert folders_of(tool) == (own_home / "tools" / "node-22",)
    for shared in (
        own_home / "bin" / "x",
        own_home / ".local" / "bin" / "x",
        Path("/opt/bin/x"),
        Path("/x/y"),
    ):
        assert folders_of(shared) == (shared,)


def test_limits_from_the_environment_ignore_nonsense():
    assert Limits.from_environment({"SCRIPT_TIMEOUT": "5", "MAX_SCRIPT_OUTPUT": "10"}).timeout == 5
    for nonsense in ("", "-1", "inf", "nan", "soon"):
        assert Limits.from_environment({"SCRIPT_TIMEOUT": nonsense}) == Limits()


def test_uv_is_told_what_pip_is_told(tmp_path):
    configuration = tmp_path / "pip.conf"
    configuration.write_text(
        "[global]\nindex-url = http://a.invalid/simple\nextra-index-url =\n  http://b.invalid\n  http://c.invalid\n"
        "find-links = /wheels\ncert = /ca.pem\ntrusted-host = a.invalid\n[install]\nno-index = true\n"
    )
    environ = {"PATH": os.environ["PATH"], "PIP_CONFIG_FILE": str(configuration), "HOME": str(tmp_path)}
    settings = uv_settings({**environ, "VIRTUAL_ENV": "x", "PYTHONPATH": "x"})
    given = settings.environment
    # uv asks those of UV_INDEX in order and the default one last; it takes what the first one knows.
    assert given["UV_INDEX"] == "http://a.invalid/simple http://b.invalid"
    assert given["UV_DEFAULT_INDEX"] == "http://c.invalid"
    assert given["UV_INDEX_STRATEGY"] == "first-index"
    assert given["UV_FIND_LINKS"] == "/wheels"
    assert settings.options == ("--no-config", "--no-index")
    assert given["SSL_CERT_FILE"] == "/ca.pem"
    assert given["UV_INSECURE_HOST"] == "a.invalid"
    assert not {"VIRTUAL_ENV", "PYTHONPATH"} & set(given)
    assert pip_settings({**environ, "PIP_FIND_LINKS": "/mine"})["find-links"] == "/mine"
    assert pip_settings({"PIP_CONFIG_FILE": os.devnull, "PIP_CERT": "x"})["cert"] == "x"


@pytest.mark.parametrize(
    "content", ["[global]\nindex-url = http://mine.invalid", "not a configuration", "\xff"]
)
def test_pip_and_we_read_the_same_files(tmp_path, content):
    folder = tmp_path / ".config" / "pip"
    folder.mkdir(parents=True)
    (folder / "pip.conf").write_bytes(content.encode("latin-1"))
    machine = pip_settings({"HOME": str(tmp_path / "elsewhere")})
    own = {"index-url": "http://mine.invalid"} if content.startswith("[") else {}
    assert pip_settings({"HOME": str(tmp_path)}) == {**machine, **own}


def test_uv_keeps_its_own_settings(tmp_path):
    home = {"HOME": str(tmp_path)}
    own = {**home, "UV_INDEX_URL": "http://mine.invalid", "PIP_INDEX_URL": "http://pip.invalid"}
    assert uv_settings(own).environment == own
    file = tmp_path / ".config" / "uv" / "uv.toml"
    file.parent.mkdir(parents=True)
    file.touch()
    assert uv_settings(home).options == ("--config-file", str(file))
    file.chmod(0o666)  # anybody could have written it
    assert uv_settings(home).options[0] == "--no-config"


def test_no_program_is_taken_from_a_skill_or_from_a_folder_of_others(tmp_path):
    skill, shared, own = tmp_path / "skill" / "bin", tmp_path / "shared", tmp_path / "own"
    for folder in (skill, shared, own):
        folder.mkdir(parents=True)
        for name in ("bash", "walls"):
            (folder / name).write_text("#!/bin/sh\n")
            (folder / name).chmod(0o755)
    (tmp_path / "skill" / "SKILL.md").touch()
    shared.chmod(0o777)
    environ = {"PATH": f"{skill}:{shared}:.:{own}"}
    assert find_program("walls", environ) == str(own / "walls")
    assert find_program("bash", environ) != str(own / "bash")
    assert find_program("bash", environ, system_first=False) == str(own / "bash")
    assert find_program("walls", {"PATH": f"{skill}:{shared}::relative"}) is None


@pytest.mark.parametrize("path", ["as it is", "/nowhere"])
def test_uv_is_found_on_the_path_or_beside_this_python_and_answers(path, monkeypatch):
    if path == "/nowhere":
        monkeypatch.setenv("PATH", path)
    find_uv.cache_clear()
    try:
        uv = find_uv()
    finally:
        find_uv.cache_clear()
    assert uv is not None
    assert subprocess.run([*uv, "--version"], capture_output=True, text=True, check=True).stdout.startswith(
        "uv "
    )


def test_uv_that_is_only_a_module_is_run_as_one(monkeypatch):
    def gone():
        raise FileNotFoundError

    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("uv.find_uv_bin", gone)
    find_uv.cache_clear()
    try:
        assert find_uv() == (sys.executable, "-m", "uv")
    finally:
        find_uv.cache_clear()


def test_a_work_folder_is_removed_whatever_is_in_it(tmp_path, monkeypatch):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    work = tmp_path / "work"
    work.mkdir()
    (work / "link").symlink_to(outside)
    (work / "a" / "b").mkdir(parents=True)
    (work / "a" / "file").touch()
    monkeypatch.chdir(work)
    for _ in range(40):  # beyond what one path can name
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
    os.mkdir("closed", 0)
    monkeypatch.chdir(tmp_path)
    _, entries = folder_size(str(work))
    assert entries > Limits().work_files
    remove_tree(str(work))
    assert not work.exists()
    assert (outside / "kept").exists()
    remove_tree(str(work))


def test_a_work_folder_is_measured(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_bytes(bytes(10_000))
    os.link(tmp_path / "folder" / "file", tmp_path / "again")
    size, entries = folder_size(str(tmp_path))
    assert entries == 3
    assert 10_000 <= size < 20_000


def test_importing_the_packages_does_not_import_heavy_things():
    heavy = "{'pydantic', 'opentelemetry', 'uv', 'ctypes.util'}"
    program = f"import sys, skillkit.scripts, skillkit.toolsets; print(sorted({heavy} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_a_request_and_a_result_are_plain_data():
    request = ScriptRequest("demo", Path("/demo"), "sha256:0", "scripts/a.py", network=True)
    result = ScriptResult(Outcome.EXITED, "bwrap", 0, stdout=Captured(b"x", total=1))
    assert pickle.loads(pickle.dumps((request, result))) == (request, result)


def test_pythons_of_version_managers_are_found_unless_others_may_have_put_them_there(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for version, mode in (("3.18.1", 0o755), ("3.17.1", 0o777)):
        folder = tmp_path / ".pyenv" / "versions" / version / "bin"
        folder.mkdir(parents=True)
        folder.chmod(mode)
        program = folder / f"python{version[:4]}"
        program.write_text(f"#!/bin/sh\necho '{version} linux-x86_64 {folder.parent}'\n")
        program.chmod(0o755)
    found = {python.full_version for python in pythons._others.__wrapped__()}
    assert "3.18.1" in found
    assert "3.17.1" not in found
