"""What npm locks: which packages, and that each is named by its integrity and by no place."""

import re
from typing import Any

from skillkit.core.foreign_json import parse_json
from skillkit.scripts.models import DependencyError

MODULES = "node_modules"
_INTEGRITY = re.compile(r"sha(?:512|384|256|1)-[A-Za-z0-9+/=]{20,}(?: sha[0-9]+-[A-Za-z0-9+/=]{20,})*")


def check_lock(lock: Any) -> None:
    """Raise DependencyError for a lock that names anything but packages of the registry by integrity."""
    packages = lock.get("packages") if isinstance(lock, dict) else None
    if not isinstance(packages, dict) or "" not in packages:
        raise DependencyError("npm made a lock that cannot be read; a newer npm is needed")
    for place, entry in packages.items():
        if not place:
            continue
        plain = place.startswith(f"{MODULES}/") and ".." not in place.split("/")
        known = entry.get("inBundle") or _INTEGRITY.fullmatch(str(entry.get("integrity", "")))
        if not plain or not known or entry.get("link") or "resolved" in entry:
            raise DependencyError(f"The package {place[:200]} comes from elsewhere than the registry")


def locked_names(locks: str) -> list[str]:
    """Return the packages of accepted locks, each once, as `name@version`."""
    found = {
        f"{place.rpartition(f'{MODULES}/')[2]}@{entry.get('version')}"
        for lock in (parse_json(locks) if locks else {}).values()
        for place, entry in lock["packages"].items()
        if place
    }
    return sorted(found)
