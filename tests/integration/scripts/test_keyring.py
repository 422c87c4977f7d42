"""Secrets in a keyring, through the library `keyring` and a backend of it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from program import clean_environment

from skillkit.scripts.secret_store import SecretError, SecretStore

keyring = pytest.importorskip("keyring")
pytestmark = pytest.mark.this_machine

VALUE = "sk-live-42424242"


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The file of a keyring that is the system's."""
    before = keyring.get_keyring()  # before the import, after which the library would choose ours
    from file_keyring import FileKeyring

    monkeypatch.setenv("TEST_KEYRING", str(tmp_path / "keyring.json"))
    keyring.set_keyring(FileKeyring())
    yield tmp_path / "keyring.json"
    keyring.set_keyring(before)


def test_a_value_is_in_the_keyring_and_not_in_our_file(tmp_path, kept):
    store = SecretStore(tmp_path)
    store.set("API_KEY", VALUE)
    assert json.loads(kept.read_text()) == {"skillkit API_KEY": VALUE}
    assert VALUE not in (tmp_path / "secrets.json").read_text()
    assert (store.names(), SecretStore(tmp_path).value("API_KEY")) == (["API_KEY"], VALUE)
    assert store.is_encrypted
    assert "FileKeyring" in store.place
    assert store.remove("API_KEY")
    assert json.loads(kept.read_text()) == {}


def test_a_value_that_was_removed_from_the_keyring_can_be_forgotten(tmp_path, kept):
    store = SecretStore(tmp_path)
    store.set("API_KEY", VALUE)
    kept.write_text("{}")
    assert store.value("API_KEY") is None
    assert store.remove("API_KEY")
    assert store.names() == []


def test_a_value_that_was_kept_before_there_was_a_keyring_is_still_there(tmp_path, kept):
    kept.parent.mkdir(exist_ok=True)
    data = {"version": 1, "secrets": {"API_KEY": VALUE}}
    (tmp_path / "secrets.json").write_text(json.dumps(data))
    store = SecretStore(tmp_path)
    assert store.value("API_KEY") == VALUE
    store.set("API_KEY", f"{VALUE}-2")
    assert VALUE not in (tmp_path / "secrets.json").read_text()
    assert store.value("API_KEY") == f"{VALUE}-2"


def test_a_keyring_that_is_locked_is_said_and_stops_nothing_else(tmp_path, kept):
    store = SecretStore(tmp_path)
    store.set("API_KEY", VALUE)
    kept.unlink()
    kept.mkdir()
    for use in (
        lambda: store.value("API_KEY"),
        lambda: store.set("B", VALUE),
        lambda: store.remove("API_KEY"),
    ):
        with pytest.raises(SecretError, match=r"cannot .* The collection is locked"):
            use()
    assert store.names() == ["API_KEY"]
    assert store.value("OTHER") is None


@pytest.mark.parametrize(
    ("backend", "said", "code"),
    [
        ("file_keyring.FileKeyring", "kept in the keyring of this system (file_keyring.FileKeyring)", 0),
        ("file_keyring.PlainKeyring", "does not recommend that one: it does not encrypt", 0),
        ("no_such.Keyring", "The keyring of this system cannot be opened: No module named 'no_such'", 1),
    ],
)
def test_the_program_says_which_keyring_keeps_a_secret(tmp_path: Path, backend, said, code):
    support = Path(__file__).parents[2] / "support"
    environment = clean_environment(tmp_path) | {
        "PYTHON_KEYRING_BACKEND": backend,
        "PYTHONPATH": str(support),
        "TEST_KEYRING": str(tmp_path / "keyring.json"),
    }
    command = [sys.executable, "-c", "from skillkit.agent.cli import main; main()"]

    def agent(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *arguments],
            cwd=tmp_path,
            env=environment,
            input=f"{VALUE}\n",
            capture_output=True,
            text=True,
            check=False,
        )

    ran = agent("secret", "set", "API_KEY")
    told = " ".join((ran.stdout + ran.stderr).split())
    assert (ran.returncode, said in told, VALUE in told) == (code, True, False), told
    assert "Traceback" not in told
    assert agent("secret", "list").returncode == 0
