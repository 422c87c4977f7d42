"""Programs of others, installed from npm or PyPI once and kept in pytest's cache."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from skillkit.core.disk import locked


def from_npm(config: pytest.Config, *packages: str) -> Path:
    """The folder `node_modules` with these packages."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    return _kept(config, packages, npm, "install", "--no-audit", "--no-fund", "--prefix") / "node_modules"


def from_pypi(config: pytest.Config, *packages: str) -> Path:
    """A folder for PYTHONPATH with these packages."""
    return _kept(config, packages, sys.executable, "-m", "pip", "install", "-q", "--target")


def _kept(config: pytest.Config, packages: tuple[str, ...], *install: str) -> Path:
    name = hashlib.sha256("\n".join(packages).encode()).hexdigest()[:16]
    folder = Path(config.cache.mkdir(f"stock-{name}"))  # type: ignore[union-attr]
    with locked(folder / "lock"):  # several processes of one run may want it
        if not (folder / "complete").exists():
            command = [*install, str(folder), *packages]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
            if done.returncode:
                pytest.skip(f"{', '.join(packages)} could not be installed: {done.stderr[-200:]}")
            (folder / "complete").touch()
    return folder
