"""Output without end, and output that is no text."""

import os

import pytest

from skillkit.scripts import Grants, Limits

MIB = 1 << 20


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_endless_output_is_ended_at_the_hard_limit(workshop, backend):
    workshop.skill("talk", run_sh="while :; do echo endless; done")
    limits = Limits(output_kill=4 * MIB, output=1000)
    answer = workshop.tools(Grants(unsandboxed=True), sandbox=backend, limits=limits).script_run(
        "talk", "run"
    )
    assert answer["error"] == "execution_failed"
    assert "killed after printing" in answer["message"]


def test_json_that_does_not_fit_is_a_parse_error_that_says_so(workshop):
    workshop.skill("talk", run_py="print('[' + '1,' * 1000000 + '1]')")
    answer = workshop.tools().script_run("talk", "run")
    assert answer["error"] == "parse_error"
    assert "incomplete" in answer["message"]
    assert "2000003 bytes printed" in answer["message"] or "output truncated" in answer["message"]


@pytest.mark.parametrize(
    ("script", "result"),
    [
        ("import os, sys; print('before', flush=True); os.close(1); os.close(2)", "before\n"),
        (r"import os; os.write(1, b'\xff\xfe ok \xc3')", "\ufffd\ufffd ok \ufffd"),
        (r"print('\x1b]0;title\x07\x1b[2J\x1b[31mred\x1b[0m\u202e\u200bend\r\nx\ry')", "redend\nx\ny\n"),
        (r"print('\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x9b31m')", "link 31m\n"),
        ("import sys; sys.stderr.write('e' * 3000000); print('done')", "done\n"),
    ],
)
def test_odd_output_is_text_in_the_end(workshop, backend, script, result):
    workshop.skill("odd", run_py=script)
    tools = workshop.tools(Grants(unsandboxed=True), sandbox=backend)
    answer = tools.script_run("odd", "run", json=False)
    assert answer["success"], answer
    assert answer["result"] == result


# Output


def test_three_hundred_megabytes_of_output_leave_head_and_tail(workshop, backend):
    workshop.skill(
        "talk",
        run_py="""
        import os
        os.write(1, b"first")
        block = b"x" * (1 << 20)
        for _ in range(300):
            view = memoryview(block)
            while view:
                view = view[os.write(1, view):]
        os.write(1, b"last")
        """,
    )
    tools = workshop.tools(Grants(unsandboxed=True), sandbox=backend)
    before = resident()
    answer = tools.script_run("talk", "run", json=False)
    assert answer["success"], answer
    assert resident() - before < 16 * MIB
    assert answer["meta"]["stdout_bytes"] == 300 * MIB + 9
    assert answer["meta"]["truncated"] is True
    assert "output truncated: 314572809 bytes printed, 1048576 kept" in answer["message"]
    assert answer["result"].startswith("firstx")
    assert answer["result"].endswith("xlast")
    assert len(answer["result"]) < MIB + 100
