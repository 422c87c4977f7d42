"""Every command with a stdout that is closed, full or of another encoding: no traceback, the right code."""

import json
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from program import clean_environment

pytestmark = pytest.mark.slow

# One process imports the program once; each run is a fork of it with streams of its own.
DRIVER = """
import io, json, os, sys, typer
import skillkit.agent.cli.output as output
from skillkit.agent.cli.app import app
from skillkit.agent.cli.outcome import run
import rich.console, skillkit.install.installer, skillkit.install.enabled

def leaves(command, words=()):
    if not hasattr(command, "list_commands"):
        json = any("--json" in option.opts for option in command.params)
        lasting = {"serve", "gateway", "worker", "inspect", "model"} & set(words[:2])  # they last
        yield [*words, *(["--help"] if lasting else ["--json"] if json else [])]
        return
    context = command.context_class(command, info_name="agent")
    for name in command.list_commands(context):
        yield from leaves(command.get_command(context, name), (*words, name))

def attempt(words, kind):
    with open("stderr", "wb") as errors, open("stdout", "wb") as out:
        child = os.fork()
        if child:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open("stderr", os.O_WRONLY), 2)
    os.dup2(os.open("/dev/full" if kind == "full" else "stdout", os.O_WRONLY), 1)
    sys.stdin = open(0)
    encoding = "latin-1" if kind == "latin-1" else "utf-8"
    sys.stderr = open(2, "w", encoding=encoding, errors="backslashreplace")
    sys.stdout = None if kind == "closed" else open(1, "w", encoding=encoding)
    if kind == "closed":
        os.close(1)
    output.console.cache_clear()
    os.environ["HOME"] = os.path.abspath(f"home-{os.getpid()}")  # each of them is the first
    code = 99
    try:
        code = run(app, words)
        sys.stderr.flush()
    except BaseException:
        import traceback
        traceback.print_exc()
        sys.stderr.flush()
    os._exit(code)

results = []
for words in leaves(typer.main.get_command(app)):
    codes = {}
    for kind in ("plain", "closed", "full", "latin-1"):
        codes[kind] = attempt(words, kind)
        with open("stderr", encoding="latin-1") as file:
            trouble = file.read()
        if "Traceback" in trouble or codes[kind] in (99, 120):
            codes["trouble"] = f"{kind}: {trouble[-1500:]}"
        if kind == "plain":
            codes["said"] = os.path.getsize("stdout")
    results.append([" ".join(words), codes])
json.dump(results, open("results", "w"))
"""


@pytest.mark.slow
def test_no_command_breaks_for_where_its_output_goes(tmp_path: Path) -> None:
    (tmp_path / "skills" / "naïve").mkdir(parents=True)
    (tmp_path / "skills" / "naïve" / "SKILL.md").write_text(
        "---\nname: naïve\ndescription: Tells → from ←, and 日本\n---\n", encoding="utf-8"
    )
    done = subprocess.run(
        [sys.executable, "-c", DRIVER],
        cwd=tmp_path,
        env=clean_environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "results").read_text())
    assert len(results) > 40
    for words, codes in results:
        assert "trouble" not in codes, f"agent {words}: {codes['trouble']}"
        assert codes["closed"] == codes["latin-1"] == codes["plain"], f"agent {words}: {codes}"
        # What could not be said is a failure; what failed anyway says so by its own code.
        expected = codes["plain"] or (1 if codes["said"] else 0)
        assert codes["full"] in (expected, 1), f"agent {words}: {codes}"


@pytest.mark.parametrize("stream", ["2>/dev/full", "2>&-", "2> >(true)"])
def test_remarks_that_cannot_be_said_change_no_outcome(stream: str, tmp_path: Path) -> None:
    """A full disk behind stderr made every command end with 120, after it had done its work or before."""
    program = f"{sys.executable} -c 'from skillkit.agent.cli import main; main()'"
    command = f"{program} skill list {stream} >list && {program} skill info nosuch {stream}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        env=clean_environment(tmp_path),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert "hello-extended" in (tmp_path / "list").read_text()


@pytest.mark.parametrize("command", ["skill list", "--check", "config show", "session list", "memory list"])
def test_a_home_that_is_no_folder_holds_nothing(command: str, tmp_path: Path) -> None:
    """Users of services often have /dev/null for a home."""
    done = subprocess.run(
        [sys.executable, "-c", "from skillkit.agent.cli import main; main()", *command.split()],
        cwd=tmp_path,
        env=clean_environment("/dev/null"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_closed_terminal_ends_the_inspector_in_order(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    program = [sys.executable, "-c", "from skillkit.agent.cli import main; main()", "inspect", "--no-open"]
    with subprocess.Popen(
        # What started the tests may ignore SIGHUP (nohup does), and then so does all that they start.
        ["env", "--default-signal", *program],
        cwd=tmp_path,
        env=clean_environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as inspector:
        assert inspector.stdout is not None
        with suppress(HTTPError), urlopen(inspector.stdout.readline().strip()):
            pass  # whatever it says: it serves by now
        inspector.send_signal(signal.SIGHUP)
        _, trouble = inspector.communicate(timeout=60)
    assert "Traceback" not in trouble
    assert inspector.returncode in (-signal.SIGTERM, 128 + signal.SIGTERM)
