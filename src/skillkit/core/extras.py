"""The command that installs an extra: its packages by name, since skillkit is not on a package index."""

import shlex
import sys


def pip_install(extra: str) -> str:
    """Return the command that installs the packages of an extra for this interpreter."""
    import importlib.metadata

    try:
        lines = importlib.metadata.requires("skillkit") or []
    except importlib.metadata.PackageNotFoundError:
        lines = []
    needed = [line.partition(";")[0].strip() for line in lines if _belongs(line, extra)]
    return shlex.join([sys.executable, "-m", "pip", "install", *(needed or [f".[{extra}]"])])


def _belongs(requirement: str, extra: str) -> bool:
    marker = requirement.partition(";")[2].replace('"', "'")
    return f"extra == '{extra}'" in marker
