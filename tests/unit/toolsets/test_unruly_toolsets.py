"""Tools that interrupt, hang, print, or answer with too much."""

import asyncio
import json
import logging
import subprocess
import sys
import threading

import pytest

from skillkit.core.grants import Limits
from skillkit.toolsets import AgentToolset, as_tool
from skillkit.toolsets.modules import import_module, read_sources


class Unruly(AgentToolset):
    def __init__(self) -> None:
        super().__init__()
        self.never = threading.Event()

    def interrupts(self) -> None:
        raise KeyboardInterrupt("mine")

    async def interrupts_later(self) -> None:
        raise KeyboardInterrupt("mine")

    def blocks(self) -> None:
        self.never.wait()

    async def blocks_the_loop(self) -> None:
        self.never.wait()

    async def waits(self) -> None:
        await asyncio.Event().wait()

    async def works(self) -> str:
        return "yes"

    def talks(self) -> str:
        print("on standard output")
        sys.stdout.writelines(["and", "again"])
        sys.stdout.buffer.write(b"in bytes")
        return "done"

    def long_text(self) -> str:
        return "a" * 5_000 + "b" * 5_000

    def long_list(self) -> list[str]:
        return ["a" * 100] * 1_000_000

    def odd(self) -> object:
        return {
            "nan": float("nan"),
            "inf": [float("inf")],
            "half\ud800": "\udfff",
            "some": (n for n in (1, 2)),
        }


@pytest.fixture
def unruly():
    """The tools of a toolset that does what it should not, with a fifth of a second and 1,000 characters."""
    toolset = Unruly()
    limits = Limits(timeout=0.2, output=1_000)
    before = set(threading.enumerate())
    yield {method.__name__: as_tool(method, limits) for method in toolset.get_tools()}
    toolset.never.set()
    vars(toolset)["_worker"]._leave_loop()
    for thread in set(threading.enumerate()) - before:
        if thread.name.startswith("skillkit-toolset"):
            thread.join()


@pytest.mark.parametrize("name", ["interrupts", "interrupts_later"])
async def test_an_interrupt_that_a_tool_raises_is_its_own_failure(unruly, name):
    answer = await unruly[name].handler()
    assert (answer["error"], answer["message"]) == ("execution_failed", "KeyboardInterrupt: mine")


@pytest.mark.parametrize("name", ["blocks", "blocks_the_loop", "waits"])
async def test_a_tool_that_does_not_return_is_left_behind(unruly, name):
    answer = await unruly[name].handler()
    assert answer["error"] == "timeout"
    assert "did not return within 0.2 s" in answer["message"]
    assert (await unruly["works"].handler())["result"] == "yes"


def test_a_tool_that_never_returns_does_not_keep_the_program_from_ending():
    program = (
        "import asyncio, threading\n"
        "from skillkit.core.grants import Limits\n"
        "from skillkit.toolsets import as_tool\n"
        "def hang(): threading.Event().wait()\n"
        "print(asyncio.run(as_tool(hang, Limits(timeout=0.1)).handler())['error'])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout == "timeout\n"


async def test_what_a_tool_prints_goes_to_the_log(unruly, capfd, caplog):
    with caplog.at_level(logging.INFO):
        assert (await unruly["talks"].handler())["result"] == "done"
    assert capfd.readouterr().out == ""
    assert "on standard output" in caplog.text


def test_nothing_that_a_toolset_writes_reaches_the_standard_output_of_the_program():
    program = """
import asyncio, os, subprocess, threading
from skillkit.toolsets import AgentToolset, as_tool
from skillkit.toolsets.modules import import_module, read_sources

class Loud(AgentToolset):
    def __init__(self):
        self.go_on = threading.Event()

    def shout(self) -> str:
        os.write(1, b"by descriptor\\n")
        subprocess.run(["echo", "by a program"], check=True)
        now = threading.Thread(target=print, args=("by a thread",))
        now.start()
        now.join()
        self.later = threading.Thread(target=self.wait)
        self.later.start()
        return "done"

    def wait(self):
        self.go_on.wait()
        print("by a thread, later")
        os.write(1, b"by descriptor, later\\n")

loud = Loud()
print("before")
print(asyncio.run(as_tool(loud.shout).handler())["result"])
print("meanwhile", flush=True)
loud.go_on.set()
loud.later.join()
os.write(1, b"by the program\\n")
print("after")
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout.split("\n") == ["before", "done", "meanwhile", "by the program", "after", ""]
    assert [line for line in ran.stderr.splitlines() if line.startswith("by ")] == [
        "by descriptor",
        "by a program",
        "by descriptor, later",
    ]


async def test_a_long_text_is_cut_and_a_long_list_refused(unruly):
    answer = await unruly["long_text"].handler()
    assert 1_000 <= len(answer["result"]) < 1_100
    assert answer["result"].startswith("aaa")
    assert answer["result"].endswith("bbb")
    assert "9000 characters are missing" in answer["message"]
    answer = await unruly["long_list"].handler()
    assert answer["error"] == "result_too_large"


async def test_a_result_is_json_whatever_is_in_it(unruly):
    answer = await unruly["odd"].handler()
    assert answer["result"]["some"] == [1, 2]
    assert answer["result"]["nan"] is None
    json.dumps(answer, allow_nan=False, ensure_ascii=False).encode()


def test_a_failed_import_leaves_no_module_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENT_HOME", str(tmp_path / "home"))
    skill = tmp_path / "skill"
    skill.mkdir()
    (skill / "SKILL.md").write_text("---\nname: x\ndescription: x\n---\n")
    (skill / "part.py").write_text("value = 1\n")
    (skill / "tools.py").write_text("from . import part\nraise RuntimeError(part.value)\n")
    with pytest.raises(RuntimeError):
        import_module(read_sources(skill), "leftover_test", "tools")
    assert [name for name in sys.modules if name.startswith("skillkit_skills.leftover_test")] == []
