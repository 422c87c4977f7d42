"""Live reload: folders are watched and the manager refreshed when something in them changes."""

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from skillkit.core.exceptions import ConfigurationError
from skillkit.core.extras import pip_install

logger = logging.getLogger(__name__)


class Watcher:
    """Calls `on_change` after something beneath `folders` has changed, until it is stopped."""

    def __init__(self, folders: Sequence[Path], on_change: Callable[[], object]) -> None:
        try:
            import watchfiles
        except ImportError as error:
            raise ConfigurationError(
                f"Watching for changes needs the package 'watchfiles': {pip_install('watch')}"
            ) from error
        self._watch = watchfiles.watch
        self._folders = folders
        self._on_change = on_change
        self._stop = threading.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="skillkit-watcher", daemon=True)

    def start(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def stop(self) -> None:
        """Stop watching and wait until nothing runs any more."""
        self._stop.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            changes = self._watch(
                *self._folders,
                stop_event=self._stop,
                rust_timeout=200,
                yield_on_timeout=True,
                debounce=200,
            )
            # The first result, empty or not, comes once the folders are watched.
            for changed in changes:
                if changed or not self._ready.is_set():
                    self._call()
                self._ready.set()
        except Exception:
            logger.exception("Skills are no longer watched for changes")
        finally:
            self._ready.set()

    def _call(self) -> None:
        try:
            self._on_change()
        except Exception:
            logger.exception("Refreshing the skills after a change failed; still watching")
