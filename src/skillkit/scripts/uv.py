"""The program `uv`, and what this machine's pip is told about indexes, which uv does not read itself."""

import configparser
import contextlib
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

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
    """pip's settings of where packages come from: its files, weakest first, then its variables."""
    found: dict[str, str] = {}
    for section in ("global", "install"):
        for path in _pip_files(environ):
            parser = configparser.RawConfigParser()
            with contextlib.suppress(configparser.Error, UnicodeDecodeError, OSError):
                parser.read(path, encoding="utf-8")
                if parser.has_section(section):
                    found.update({name.replace("_", "-"): value for name, value in parser.items(section)})
    for name, value in environ.items():
        if name.startswith("PIP_") and value:
            found[name.removeprefix("PIP_").lower().replace("_", "-")] = value
    return found


def _pip_files(environ: Mapping[str, str]) -> list[Path]:
    """Where pip looks for its configuration, as its documentation lists it."""
    named = environ.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return []
    home = Path(environ.get("HOME") or Path.home())
    settings = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    shared = (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep)
    files = [Path(folder) / "pip" / "pip.conf" for folder in reversed(shared)]
    files += [Path("/etc/pip.conf"), Path("/Library/Application Support/pip/pip.conf")]
    files += [home / ".pip" / "pip.conf", home / "Library" / "Application Support" / "pip" / "pip.conf"]
    files += [settings / "pip" / "pip.conf", Path(sys.prefix) / "pip.conf"]
    return [*files, Path(named)] if named else files


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
