"""What a script leaves in its output folder comes back as plain files within limits; nothing else does."""

import asyncio
import hashlib
import os
from pathlib import Path

import pytest

from skillkit.core.authority import Requester, asking_for
from skillkit.core.exceptions import ContentLoadError
from skillkit.scripts import Grants, Limits
from skillkit.scripts import outputs as kept_outputs
from skillkit.scripts.models import OutputFile
from skillkit.scripts.outputs import OutputStore

MINE, YOURS = Requester(conversation="mine"), Requester(conversation="yours")


def make(workshop, code, sandbox, **limits):
    """Run a script with `o` as its output folder."""
    workshop.skill(
        "demo", make_py=f"import os, pathlib\no = pathlib.Path(os.environ['SKILL_OUTPUT_DIR'])\n{code}"
    )
    tools = workshop.tools(Grants(limits=Limits(**limits), unsandboxed=True), sandbox=sandbox)
    return tools, tools.script_run("demo", "make", json=False)


def test_files_come_back_with_name_size_type_and_digest(workshop, backend):
    code = (
        "(o / 'sub').mkdir()\n(o / 'chart.png').write_bytes(b'png')\n(o / 'sub' / 'a.csv').write_text('1,2')"
    )
    _, answer = make(workshop, code, backend)
    chart, table = answer["files"]
    digest = f"sha256:{hashlib.sha256(b'png').hexdigest()}"
    assert (chart["name"], chart["bytes"], chart["media_type"]) == ("chart.png", 3, "image/png")
    assert chart["digest"] == digest
    assert Path(chart["path"]).read_bytes() == b"png"
    assert Path(chart["path"]).stat().st_mode & 0o077 == 0
    assert (table["name"], Path(table["path"]).read_text()) == ("sub/a.csv", "1,2")


def test_in_bubblewrap_the_folder_has_a_name_that_can_be_written_down(workshop):
    workshop.skill("demo", make_sh="echo text > /output/note.txt")
    answer = workshop.tools(sandbox="bwrap").script_run("demo", "make", json=False)
    assert [file["name"] for file in answer["files"]] == ["note.txt"]


NO_PLAIN_FILES = """
os.symlink('/etc/passwd', o / 'link')
os.symlink('/etc', o / 'folder')
os.mkfifo(o / 'pipe')
(o / 'twice').write_text('x')
os.link(o / 'twice', o / 'again')
"""


def test_links_pipes_and_files_with_two_names_are_refused(workshop, backend):
    _, answer = make(workshop, NO_PLAIN_FILES, backend)
    assert answer["files"] == []
    left_out = {line.partition(":")[0] for line in answer["files_left_out"]}
    assert left_out == {"link", "folder", "pipe", "twice", "again"}


NAMES = r"""
(o / 'a\u202eb').write_text('x')
(o / 'new\nline').write_text('x')
(o / ('n' * 200)).write_text('x')
open(os.fsencode(o) + b'/bad\xff', 'w').close()
deep = o
for _ in range(6):
    deep = deep / 'd'
    deep.mkdir()
(deep / 'x').write_text('x')
(o / 'good').write_text('x')
"""


def test_names_that_cannot_be_shown_and_deep_folders_are_left_out_and_said(workshop, backend):
    _, answer = make(workshop, NAMES, backend)
    assert [file["name"] for file in answer["files"]] == ["good"]
    assert len(answer["files_left_out"]) == 5
    assert all(line.isprintable() for line in answer["files_left_out"])


def test_more_files_and_bytes_than_are_kept_are_named(workshop, backend):
    code = "for n in range(60): (o / f'{n:02}').write_bytes(b'x' * 100)"
    _, answer = make(workshop, code, backend, made_files=3, made_size=1 << 20)
    assert [file["name"] for file in answer["files"]] == ["00", "01", "02"]
    assert answer["files_left_out"][-1] == "… and 37 more"


def test_in_bubblewrap_the_kernel_holds_the_size(workshop):
    code = """
try:
    (o / 'big').write_bytes(b'x' * (8 << 20))
except OSError as error:
    print(error.errno)
"""
    _, answer = make(workshop, code, "bwrap", made_size=1 << 20)
    assert answer["result"] == "28\n"
    assert sum(file["bytes"] for file in answer["files"]) <= 1 << 20


def test_a_sparse_file_is_counted_by_what_would_be_read(workshop, confining):
    code = "f = open(o / 'sparse', 'wb'); f.truncate(200 << 20); f.close()"
    _, answer = make(workshop, code, confining)
    assert answer.get("files", []) == []


def test_a_script_that_was_killed_leaves_what_it_had_made(workshop, backend):
    code = "(o / 'half').write_text('so far')\nprint(1, flush=True)\nimport time; time.sleep(60)"
    _, answer = make(workshop, code, backend, timeout=2.0)
    assert answer["error"] == "timeout"
    assert [file["name"] for file in answer["files"]] == ["half"]


def test_the_output_folder_of_one_run_is_not_seen_by_the_next(workshop, backend):
    make(workshop, "(o / 'secret').write_text('x')", backend)
    _, answer = make(workshop, "print(os.listdir(o))", backend)
    assert answer["result"] == "[]\n"


def test_a_model_reads_what_was_made_page_by_page_in_its_own_conversation_only(workshop):
    workshop.skill("demo", make_sh="seq 1 9000 > /output/numbers.txt; head -c 100 /dev/zero > /output/zeros")
    tools = workshop.tools(sandbox="bwrap")
    with asking_for(MINE):
        assert "script_file" not in {tool.name for tool in tools.tools()}
        numbers, zeros = tools.script_run("demo", "make", json=False)["files"]
        (reader,) = [tool for tool in tools.tools() if tool.name == "script_file"]

        def read(uri, offset=0):
            return asyncio.run(reader.call({"uri": uri, "offset": offset})).data

        text, offset = "", 0
        while offset is not None:
            page = read(numbers["uri"], offset)
            text, offset = text + page["result"], page["meta"]["next_offset"]
        assert text.split() == [str(number) for number in range(1, 9001)]
        assert read(zeros["uri"])["error"] == "binary"
        for wrong in (
            numbers["uri"].replace("numbers.txt", "../../other"),
            numbers["uri"].replace("numbers.txt", "/etc/passwd"),
            "skill-output://../mine",
            "/etc/passwd",
        ):
            assert read(wrong)["success"] is False
    with asking_for(YOURS):
        assert read(numbers["uri"])["error"] == "not_found"
        assert "script_file" not in {tool.name for tool in tools.tools()}


def test_old_outputs_make_space_and_a_conversation_can_be_forgotten(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_outputs, "KEPT_RUNS", 3)
    store = OutputStore(tmp_path / "outputs")
    file = OutputFile("a.txt", "text/plain", "sha256:0", b"text")
    kept = [store.keep([file], MINE)[0] for _ in range(2)]
    for number, each in enumerate(kept):
        os.utime(each.path.parent, (number, number))
    kept += [store.keep([file], YOURS)[0] for _ in range(2)]
    assert [each.path.exists() for each in kept] == [False, True, True, True]
    store.forget(YOURS)
    assert not store.has_any(YOURS)
    with pytest.raises(ContentLoadError):
        store.page(kept[2].uri, YOURS)


@pytest.mark.this_machine
def test_output_can_be_followed_while_the_script_runs(workshop, backend):
    """Each line is told before the script ends: it ends only because its line was seen."""
    workshop.skill(
        "demo",
        wait_py="""
        import os, pathlib, sys, time
        print("first", flush=True)
        print("second", file=sys.stderr, flush=True)
        while True:
            time.sleep(0.05)
        """,
    )
    tools = workshop.tools(Grants(unsandboxed=True), sandbox=backend)
    lines, seen = [], asyncio.Event()

    async def run():
        loop = asyncio.get_running_loop()

        def follow(request, line):
            lines.append((request.skill, line))
            if len(lines) == 2:
                loop.call_soon_threadsafe(seen.set)

        workshop.runners[-1].follow = follow
        task = asyncio.create_task(tools.ascript_run("demo", "wait"))
        await asyncio.wait_for(seen.wait(), 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert sorted(lines) == [("demo", "first"), ("demo", "second")]
