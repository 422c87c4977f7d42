"""What the user granted to a digest besides running: packages, hosts, a project folder to read."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from skillkit.core.disk import real_path
from skillkit.core.grants import HIDDEN, Grants
from skillkit.install.consents import Consent, ConsentFile, ConsentKind


def add_parts(
    grants: Grants,
    digest: str,
    consents: ConsentFile,
    folder: Path | None = None,
    hidden: Iterable[str] = (),
) -> Grants:
    """Return `grants` with the parts for `digest`; a project counts while somebody works in it.

    `hidden` are names that the user hides in every project.
    """
    here = real_path(folder or Path.cwd())
    for each in consents.load():
        if each.digest != digest:
            continue
        if each.kind is ConsentKind.PACKAGES:
            grants = replace(grants, packages=each.detail)
        elif each.kind is ConsentKind.NPM:
            grants = replace(grants, node_packages=each.detail)
        elif each.kind is ConsentKind.HOST:
            grants = replace(grants, hosts=tuple(dict.fromkeys((*grants.hosts, each.place))))
        elif each.kind is ConsentKind.PROJECT and here.is_relative_to(each.place):
            grants = show_project(grants, Path(each.place), (*each.detail.split(), *hidden))
    return grants


def show_project(grants: Grants, folder: Path, hidden: Iterable[str]) -> Grants:
    """Return `grants` with a folder to read, without what is hidden anyway and what `hidden` adds."""
    return replace(grants, project=folder, hidden=tuple(dict.fromkeys((*HIDDEN, *hidden))))


def packages_consent(skill: str, digest: str, requirements: list[str], lock: str) -> Consent:
    """Return the user's yes to a lock; what it was made from is shown as its place."""
    return Consent(ConsentKind.PACKAGES, digest, skill, place=", ".join(requirements), detail=lock)


def npm_consent(skill: str, digest: str, requirements: list[str], locks: Mapping[str, object]) -> Consent:
    """Return the user's yes to locks of npm, by the folder of the skill that has the `package.json`."""
    detail = json.dumps(locks, sort_keys=True)
    return Consent(ConsentKind.NPM, digest, skill, place=", ".join(requirements), detail=detail)


def project_consent(skill: str, digest: str, folder: Path, hidden: Iterable[str]) -> Consent:
    """Return the user's yes to reading `folder`, without what is hidden anyway and what `hidden` adds."""
    return Consent(ConsentKind.PROJECT, digest, skill, place=str(folder), detail="\n".join(hidden))
