"""The program `uv`, and what this machine's pip is told about indexes, which uv does not read itself."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

_OWN_SETTINGS = (
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_INDEX_URL",
    "UV_EXTRA_INDEX_URL",
    "UV_FIND_LINKS",
)
_NOT_FOR_UV = ("VIRTUAL_ENV", "CONDA_PREFIX", "UV_PROJECT", "UV_WORKING_DIRECTORY")


@lru_cache(maxsize=1)
def find_uv() -> tuple[str, ...] | None:
    """How to call uv: as a program, as the one of our own environment, or as a module."""
    if (program := shutil.which("uv")) is not None:
        return (program,)
    try:
        from uv import find_uv_bin
    except ImportError:
        return None
    try:
        return (os.fspath(find_uv_bin()),)
    except FileNotFoundError:
        return (sys.executable, "-m", "uv")


@dataclass(frozen=True, slots=True)
class UvSettings:
    """How uv is called so that it finds packages where this machine's pip finds them."""

    environment: Mapping[str, str]
    options: tuple[str, ...] = ()


def uv_settings(environ: Mapping[str, str] | None = None) -> UvSettings:
    """The caller's environment for uv, with pip's indexes added unless uv has settings of its own."""
    environ = os.environ if environ is None else environ
    kept = {
        name: value
        for name, value in environ.items()
        if name not in _NOT_FOR_UV and not name.startswith("PYTHON")
    }
    if any(environ.get(name) for name in _OWN_SETTINGS):
        return UvSettings(kept)
    pip = pip_settings(environ)
    no_index = pip.get("no-index", "").lower() in ("1", "true", "yes", "on")
    return UvSettings({**kept, **_as_uv_settings(pip)}, ("--no-index",) if no_index else ())


def pip_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """pip's configuration of where packages come from, the strongest source of each setting."""
    try:
        answer = subprocess.run(
            [sys.executable, "-m", "pip", "config", "list"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=dict(environ),
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return {}
    found: dict[str, str] = {}
    for section in ("global", "install", ":env:"):
        for line in answer.splitlines():
            key, _, value = line.partition("=")
            where, _, name = key.rpartition(".")
            if where == section:
                found[name] = str(ast.literal_eval(value))
    return found


def _as_uv_settings(pip: Mapping[str, str]) -> dict[str, str]:
    settings: dict[str, str] = {}
    if pip.get("index-url"):
        settings["UV_DEFAULT_INDEX"] = pip["index-url"]
    if pip.get("extra-index-url"):
        settings["UV_INDEX"] = " ".join(pip["extra-index-url"].split())
        # pip looks into all its indexes at once; uv would stop at the first that knows the name.
        settings["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    if pip.get("find-links"):
        settings["UV_FIND_LINKS"] = ",".join(pip["find-links"].split())
    if pip.get("cert"):
        settings["SSL_CERT_FILE"] = pip["cert"]
    if pip.get("trusted-host"):
        settings["UV_INSECURE_HOST"] = " ".join(pip["trusted-host"].split())
    return settings
