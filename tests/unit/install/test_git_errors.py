"""The messages of the installed git, and the errors they stand for."""

import os
import subprocess
from pathlib import Path

import pytest

from skillkit.install.exceptions import AccessError, NetworkError
from skillkit.install.sources.git_errors import git_error


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("file:///no/such/repository", AccessError),
        ("http://127.0.0.1:1/x.git", NetworkError),
        ("http://nowhere.invalid/x.git", NetworkError),
        ("git://127.0.0.1:1/x.git", NetworkError),
    ],
)
def test_what_git_says_of_an_address(tmp_path: Path, url: str, error: type[Exception]) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LC_ALL": "C"}
    done = subprocess.run(
        ["git", "ls-remote", url], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 128
    assert type(git_error(url, done.stderr)) is error, done.stderr
