"""Choice of the sandbox on this machine: tested, remembered, never assumed."""

import contextlib
import json
import logging
import os
import platform
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import cast

from skillkit.core.disk import make_folder, replace_file
from skillkit.core.exceptions import ConfigurationError, SkillsUseError
from skillkit.core.extensions import Extensions
from skillkit.core.foreign_json import read_json
from skillkit.scripts.sandbox.backend import Backend
from skillkit.scripts.sandbox.supervised import NoSandbox
from skillkit.scripts.self_test import self_test

logger = logging.getLogger(__name__)

SANDBOXES = Extensions(
    group="skillkit.sandboxes",
    kind="sandbox",
    shipped={
        "bwrap": "skillkit.scripts.sandbox.bubblewrap:Bubblewrap",
        "landlock": "skillkit.scripts.sandbox.landlock:Landlock",
        "sandbox-exec": "skillkit.scripts.sandbox.sandbox_exec:SandboxExec",
        "none": "skillkit.scripts.sandbox.supervised:NoSandbox",
    },
)
"""In the order in which they are tried; those of other packages come after ours."""
SETTING = "SKILLKIT_SANDBOX"
_TRY_AGAIN = 60.0
"""Seconds after which a sandbox that failed its self-test is tried again: the cause may have passed."""


class NoSandboxError(SkillsUseError, code="no-sandbox"):
    """No sandbox works on this machine; the message says which were tried and why they failed."""


class SandboxSelection:
    """Selects the backend of this machine once; a passed self-test is cached on disk beneath `folder`."""

    def __init__(self, folder: Path, setting: str | None = None) -> None:
        self._file = folder / "sandbox.json"
        self._setting = setting
        self._lock = Lock()
        self._chosen: dict[str, tuple[Backend, float]] = {}
        self._failed: dict[str, tuple[str, float]] = {}

    def choose(self, *, unsandboxed: bool = False) -> Backend:
        """The strongest backend whose self-test passes, as SKILLKIT_SANDBOX allows.

        Raises NoSandboxError if there is none; with `unsandboxed` the backend `none` will do, but
        only where it was asked for or nothing else works.
        """
        setting = self._setting or os.environ.get(SETTING, "") or "auto"
        if setting not in (*SANDBOXES, "auto"):
            raise ConfigurationError(
                f"{SETTING}={setting} is not one of auto, {', '.join(SANDBOXES)}",
                parameter_name=SETTING,
            )
        with self._lock:
            backend, until = self._chosen.get(setting, (None, 0.0))
            if backend is None or time.monotonic() >= until:
                backend = self._first_that_holds(setting)
                # Something stronger that failed is given another chance.
                retry = min((until for _, until in self._failed.values()), default=float("inf"))
                if backend.confines:
                    self._chosen[setting] = (backend, retry)
        if not backend.confines and not unsandboxed:
            raise NoSandboxError(self._why_not(setting))
        return backend

    def forget(self) -> None:
        """After a backend that had passed has failed, try again from the start."""
        with self._lock:
            self._chosen.clear()
            self._failed.clear()
            self._file.unlink(missing_ok=True)

    def report(self) -> dict[str, str]:
        """Return each backend and why it does not hold here; an empty reason means that it does."""
        return {backend.name: self.reason(backend) or "" for backend in _backends() if backend.confines}

    def reason(self, backend: Backend) -> str | None:
        """Return why `backend` does not hold scripts here, cached if nothing relevant has changed."""
        if (missing := backend.missing()) is not None:
            return missing
        system = f"{platform.release()} {platform.machine()} {os.geteuid()}"
        key = f"{system} {sys.version.split()[0]} {backend.identity()}"
        passed = self._read()
        if passed.get(backend.name) == {"key": key, "reason": None}:
            return None
        reason, until = self._failed.get(backend.name, ("", 0.0))
        if time.monotonic() < until:
            return reason
        found = self_test(backend)
        logger.info("Sandbox %s: %s", backend.name, found or "holds")
        if found is None:
            self._failed.pop(backend.name, None)
            self._write({**passed, backend.name: {"key": key, "reason": None}})
        else:
            # Not on disk: a busy machine or a limit of this shell says nothing about the next process.
            self._failed[backend.name] = (found, time.monotonic() + _TRY_AGAIN)
        return found

    def _first_that_holds(self, setting: str) -> Backend:
        for backend in _backends(setting):
            if not backend.confines:
                if setting == backend.name:
                    return backend
            elif self.reason(backend) is None:
                return backend
        if setting == "auto":
            return NoSandbox()
        raise NoSandboxError(self._why_not(setting))

    def _why_not(self, setting: str) -> str:
        remedy = "allow this version of the skill to run unsandboxed"
        if setting == NoSandbox.name:
            return f"{SETTING}=none: without a sandbox only allowed skills run; {remedy}"
        tried = "; ".join(
            f"{name}: {reason}"
            for name, reason in self.report().items()
            if setting in ("auto", name) and reason
        )
        install = "install bubblewrap or " if "(package bubblewrap)" in tried else ""
        return f"No sandbox holds scripts on this machine ({tried}); {install}{remedy}"

    def _read(self) -> dict[str, dict[str, str | None]]:
        try:
            known = read_json(self._file)
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}

    def _write(self, known: Mapping[str, object]) -> None:
        with contextlib.suppress(OSError):
            make_folder(self._file.parent)
            replace_file(self._file, json.dumps(known, indent=1).encode())


def _backends(setting: str = "auto") -> list[Backend]:
    """The alternatives that `setting` leaves; one of another package that cannot be loaded is logged."""
    found: list[Backend] = []
    for name in SANDBOXES if setting == "auto" else (setting,):
        try:
            found.append(cast("type[Backend]", SANDBOXES.load(name))())
        except ConfigurationError as error:
            if setting == name:
                raise
            logger.error("%s", error)
    return found
