"""The program `uv`, and this machine's pip settings of indexes, which uv does not read itself."""

import configparser
import contextlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from skillkit.core.disk import user_home
from skillkit.core.programs import find_program

_OWN_SETTINGS = (
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_INDEX_URL",
    "UV_EXTRA_INDEX_URL",
    "UV_FIND_LINKS",
)
_PYPI = "https://pypi.org/simple"
_NOT_FOR_UV = ("VIRTUAL_ENV", "CONDA_PREFIX", "UV_PROJECT", "UV_WORKING_DIRECTORY", "UV_CONFIG_FILE")


@lru_cache(maxsize=1)
def find_uv() -> tuple[str, ...] | None:
    """Return the command line of uv: from our own environment, as a program, or as a module."""
    try:
        from uv import find_uv_bin
    except ImportError:
        program = find_program("uv")
        return None if program is None else (program,)
    try:
        return (os.fspath(find_uv_bin()),)
    except FileNotFoundError:
        return (sys.executable, "-m", "uv")


@dataclass(frozen=True, slots=True)
class UvSettings:
    """Environment and options of uv that use the indexes of this machine's pip."""

    environment: Mapping[str, str]
    options: tuple[str, ...] = ()


def uv_settings(environ: Mapping[str, str] | None = None) -> UvSettings:
    """Return the caller's environment for uv, with pip's indexes added unless uv has settings of its own.

    uv would take a `uv.toml` from any parent of its working folder, which in a shared folder for
    temporary files is anybody's; it is given the user's own file or none.
    """
    environ = os.environ if environ is None else environ
    kept = {
        name: value
        for name, value in environ.items()
        if name not in _NOT_FOR_UV and not name.startswith("PYTHON")
    }
    file = _own_configuration(environ)
    options: tuple[str, ...] = ("--no-config",) if file is None else ("--config-file", os.fspath(file))
    if extra := kept.pop("UV_EXTRA_INDEX_URL", ""):
        first = kept.pop("UV_DEFAULT_INDEX", "") or kept.pop("UV_INDEX_URL", "") or _PYPI
        kept.update(_in_order([*kept.get("UV_INDEX", "").split(), first, *extra.split()]))
    if file is not None or any(environ.get(name) for name in _OWN_SETTINGS):
        return UvSettings(kept, options)
    pip = pip_settings(environ)
    if pip.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        options += ("--no-index",)
    return UvSettings({**kept, **_as_uv_settings(pip)}, options)


def _own_configuration(environ: Mapping[str, str]) -> Path | None:
    """The `uv.toml` that the user named or keeps, or that of the machine."""
    home = Path(environ.get("HOME") or user_home())
    settings = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    named = environ.get("UV_CONFIG_FILE")
    for path in (Path(named) if named else None, settings / "uv" / "uv.toml", Path("/etc/uv/uv.toml")):
        with contextlib.suppress(OSError):
            found = path.stat() if path is not None else None
            if found and found.st_uid in (0, os.geteuid()) and not found.st_mode & 0o002:
                return path
    return None


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
    home = Path(environ.get("HOME") or user_home())
    settings = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    shared = (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep)
    files = [Path(folder) / "pip" / "pip.conf" for folder in reversed(shared)]
    files += [Path("/etc/pip.conf"), Path("/Library/Application Support/pip/pip.conf")]
    files += [home / ".pip" / "pip.conf", home / "Library" / "Application Support" / "pip" / "pip.conf"]
    files += [settings / "pip" / "pip.conf", Path(sys.prefix) / "pip.conf"]
    return [*files, Path(named)] if named else files


def _in_order(indexes: list[str]) -> dict[str, str]:
    """Settings by which an extra index gives what the first does not have, and nothing else.

    pip takes the highest version of all its indexes, and uv prefers extra ones: whoever can publish on one
    could replace a package of the first. uv stops at the first index that knows a name, the default being
    its last.
    """
    settings = {} if indexes == [_PYPI] else {"UV_DEFAULT_INDEX": indexes[-1]}
    if len(indexes) > 1:
        settings |= {"UV_INDEX": " ".join(indexes[:-1]), "UV_INDEX_STRATEGY": "first-index"}
    return settings


def _as_uv_settings(pip: Mapping[str, str]) -> dict[str, str]:
    settings = _in_order([pip.get("index-url") or _PYPI, *pip.get("extra-index-url", "").split()])
    if pip.get("find-links"):
        settings["UV_FIND_LINKS"] = ",".join(pip["find-links"].split())
    if pip.get("cert"):
        settings["SSL_CERT_FILE"] = pip["cert"]
    if pip.get("trusted-host"):
        settings["UV_INSECURE_HOST"] = " ".join(pip["trusted-host"].split())
    return settings
