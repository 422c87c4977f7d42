"""Many processes, killed processes, full disks: the journal stays readable and nobody waits for it."""

import os
import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from skillkit.journal import Event, JournalReader, Kind, SqliteJournal

WRITER = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from skillkit.journal import Event, Kind, SqliteJournal, in_turn

    journal = SqliteJournal(Path(sys.argv[1]))
    with in_turn(sys.argv[2], 1):
        for number in range(int(sys.argv[3])):
            journal.record(Event(Kind.LOADED, f"skill-{number}", data={"n": number}))
            if number == 50:
                journal.flush()
                print("begun", flush=True)
    END
    """
)
CLOSE = WRITER.replace("END", "journal.close(); print(journal.problem)")


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_eight_processes_write_while_one_reads_and_one_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    endless = WRITER.replace("END", "import time; time.sleep(600)")
    writers = [start(CLOSE, path, f"writer-{number}", 500) for number in range(8)]
    victim = start(endless, path, "victim", 400)
    assert victim.stdout is not None
    assert victim.stdout.readline() == "begun\n"
    victim.send_signal(signal.SIGKILL)
    reader = JournalReader(path)
    assert reader.events(limit=5)
    for writer in writers:
        output, errors = writer.communicate(timeout=120)
        assert (output, errors, writer.returncode) == ("begun\nNone\n", "", 0)
    victim.communicate(timeout=10)
    counts = {summary.id: summary.events for summary in reader.conversations()}
    assert counts.pop("victim") >= 51
    assert counts == {f"writer-{number}": 500 for number in range(8)}


def test_a_full_disk_costs_the_journal_one_warning_and_the_program_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    SqliteJournal(path).close()
    code = textwrap.dedent(
        """
        import resource, signal, sys, logging
        from pathlib import Path
        logging.basicConfig(format="%(message)s")
        from skillkit.journal import Event, Kind, SqliteJournal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        journal = SqliteJournal(Path(sys.argv[1]))
        for number in range(3000):
            journal.record(Event(Kind.READ, "pdf", data={"text": "x" * 1000}))
        print(journal.flush(), journal.problem is None)
        journal.record(Event(Kind.READ, "pdf"))
        print("still here")
        """
    )
    process = start(code, path)
    output, errors = process.communicate(timeout=120)
    assert output == "False False\nstill here\n"
    assert errors.count("no longer written") == 1
    assert "Traceback" not in errors
    assert JournalReader(path).stats().events >= 0


def test_a_place_that_cannot_be_written_costs_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    journal = SqliteJournal(tmp_path / "file" / "journal.sqlite")
    for _ in range(3):
        journal.record(Event(Kind.LOADED, "pdf"))
        journal.flush()
    assert caplog.text.count("no longer written") == 1


def test_only_the_owner_can_read_it_and_no_secret_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KALSHI_API_KEY", "sk-very-secret-value")
    monkeypatch.setenv("ENABLE_SENSITIVE_DATA", "true")
    path = tmp_path / "journal.sqlite"
    journal = SqliteJournal(path)
    journal.record(Event(Kind.SCRIPT_RUN, "pdf", data={"output": "key=sk-very-secret-value"}))
    assert journal.flush()
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    for file in tmp_path.iterdir():
        assert b"very-secret" not in file.read_bytes()
    [stored] = JournalReader(path).events()
    assert stored.event.data["output"] == "key=[KALSHI_API_KEY]"
    journal.close()


def test_a_link_in_the_place_of_the_journal_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("precious")
    (tmp_path / "journal.sqlite").symlink_to(tmp_path / "elsewhere")
    journal = SqliteJournal(tmp_path / "journal.sqlite")
    journal.record(Event(Kind.LOADED, "pdf"))
    assert not journal.flush()
    assert (tmp_path / "elsewhere").read_text() == "precious"


def test_a_forked_process_writes_its_own_events(tmp_path: Path) -> None:
    code = textwrap.dedent(
        """
        import os, sys
        from pathlib import Path
        from skillkit.journal import Event, Kind, SqliteJournal
        journal = SqliteJournal(Path(sys.argv[1]))
        journal.record(Event(Kind.LOADED, "parent"))
        journal.flush()
        child = os.fork()
        journal.record(Event(Kind.LOADED, "parent" if child else "child"))
        journal.close()
        if child:
            os.waitpid(child, 0)
        else:
            os._exit(0)
        """
    )
    path = tmp_path / "journal.sqlite"
    process = start(code, path)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert sorted(stored.event.skill for stored in JournalReader(path).events()) == [
        "child",
        "parent",
        "parent",
    ]
