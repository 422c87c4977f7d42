"""Places in clients' folders: links to installed skills, or copies where links are not possible.

A link points to AGENT_HOME/skills/<name>, so it follows every update; a copy is replaced as a whole.
Edited or foreign files are never overwritten or deleted.
"""

import os
import shutil
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from skillkit.core.disk import (
    clear_temporary,
    make_folder,
    real_path,
    remove_tree,
    sync_folder,
    temporary_beside,
)
from skillkit.install.clients import Place
from skillkit.install.registry_state import RegistryState
from skillkit.install.store import SkillStore


class PlaceState(Enum):
    """The state of a place."""

    CURRENT = "current"
    MISSING = "missing"
    OLDER = "an older version"
    EDITED = "edited"
    BROKEN = "a broken link"
    TAKEN = "something else"


@dataclass(frozen=True, slots=True)
class PlaceCheck:
    """A place and its state."""

    place: Place
    state: PlaceState

    def __str__(self) -> str:
        return f"{self.state.value}: {self.place.path}"


class Placement:
    """Puts skills into clients' folders and takes them out. Writers hold the registry's lock."""

    def __init__(self, store: SkillStore) -> None:
        self.store = store

    def state(self, place: Place, name: str, digest: str, known: Collection[str]) -> PlaceState:
        """Return the state of `place` for the skill `name`; `known` are the digests of all its versions."""
        path = Path(place.path)
        if not os.path.lexists(path):
            return PlaceState.MISSING
        if path.is_symlink():
            if not self._is_ours(path, name):
                return PlaceState.TAKEN
            return PlaceState.CURRENT if path.exists() else PlaceState.BROKEN
        found = self.store.digest(path)
        if found is not None and found.digest == digest:
            return PlaceState.CURRENT
        if found is not None and found.digest in known:
            return PlaceState.OLDER
        return PlaceState.EDITED if place.copied else PlaceState.TAKEN

    def _is_ours(self, path: Path, name: str) -> bool:
        target = Path(path.parent, os.readlink(path))
        link = self.store.link(name)
        return target.name == link.name and real_path(target.parent) == real_path(link.parent)

    def checks(self, state: RegistryState, name: str) -> tuple[PlaceCheck, ...]:
        """Return the state of the places of an installed skill; empty if it was removed meanwhile."""
        if (skill := state.skills.get(name)) is None:
            return ()
        known = state.digests(name)
        return tuple(
            PlaceCheck(place, self.state(place, name, skill.digest, known))
            for place in state.places.get(name, ())
        )

    def settle(self, state: RegistryState, notice: Callable[[str], object]) -> None:
        """Update clients' folders to match `state`; report failures to `notice`."""
        for name, places in state.places.items():
            state.places[name] = tuple(self._settled(state, name, place, notice) for place in places)
        state.unsettled = False

    def _settled(
        self, state: RegistryState, name: str, place: Place, notice: Callable[[str], object]
    ) -> Place:
        skill, known = state.skills.get(name), state.digests(name)
        try:
            if skill is not None:
                return self._bring(place, name, skill.stored, skill.digest, known)
            self._take_out(place, name, known)
        except OSError as error:
            notice(f"{place.path} cannot be updated: {error.strerror}")
        return place

    def _bring(self, place: Place, name: str, stored: str, digest: str, known: Collection[str]) -> Place:
        """Point `place` at the installed version, unless it holds other files; return the place."""
        path = Path(place.path)
        if path.parent.is_dir():
            clear_temporary(path.parent, of=f"{name}.")
        match self.state(place, name, digest, known):
            case PlaceState.MISSING if place.copied:
                self._copy(stored, path)
            case PlaceState.MISSING:
                return self._link(place, name, stored)
            case PlaceState.OLDER:
                self._copy(stored, path)
        is_copy = path.is_dir() and not path.is_symlink()
        return replace(place, copied=True) if is_copy else place

    def _take_out(self, place: Place, name: str, known: Collection[str]) -> None:
        """Delete the link or copy at `place` unless it was edited."""
        path = Path(place.path)
        if path.parent.is_dir():
            clear_temporary(path.parent, of=f"{name}.")
        state = self.state(place, name, "", known)
        if path.is_symlink() and state in (PlaceState.CURRENT, PlaceState.BROKEN):
            os.unlink(path)
        elif state is PlaceState.OLDER:
            self._set_aside(path)
        else:
            return
        sync_folder(path.parent)

    def _link(self, place: Place, name: str, stored: str) -> Place:
        path = Path(place.path)
        make_folder(path.parent)
        try:
            os.symlink(self.store.link(name), path)
        except FileExistsError:
            return place
        except OSError:
            self._copy(stored, path)
            return replace(place, copied=True)
        sync_folder(path.parent)
        return place

    def _copy(self, stored: str, path: Path) -> None:
        make_folder(path.parent)
        staging = temporary_beside(path)
        try:
            shutil.copytree(self.store.path(stored), staging, copy_function=_copy_writable)
        except OSError:
            remove_tree(staging)
            raise
        if os.path.lexists(path):
            self._set_aside(path)
        os.rename(staging, path)
        sync_folder(path.parent)

    def _set_aside(self, path: Path) -> None:
        aside = temporary_beside(path)
        os.rename(path, aside)
        remove_tree(aside)


def _copy_writable(source: str, target: str) -> str:
    """Copy a version so that the owner can edit it; the store's files are read-only."""
    shutil.copyfile(source, target)
    os.chmod(target, 0o755 if os.access(source, os.X_OK) else 0o644)
    with open(target, "rb") as file:
        os.fsync(file.fileno())
    return target
