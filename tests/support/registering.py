"""A registry with its accounts, and a client that speaks to it in this process."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import registry_databases
from starlette.testclient import TestClient

from skillkit.install.publishing import pack
from skillkit.install.tree import SkillTree, TreeFile
from skillkit.registry.access import OPERATOR, Caller, Visibility
from skillkit.registry.accounts import RateLimits
from skillkit.registry.app import create_app
from skillkit.registry.blobs import open_blobs
from skillkit.registry.server import Server, ServerSettings
from skillkit.registry.store import Registry

BASE = "http://registry.test"
MANY = RateLimits(100_000, 100_000)


def skill_files(name: str, text: str = "Do it.", description: str = "", **files: str) -> dict[str, str]:
    """The files of a small skill; `scripts__a_py` is the file scripts/a.py."""
    described = description or f"Fill in {name} from a table."
    header = f"---\nname: {name}\ndescription: {described}\n---\n"
    more = {key.replace("__", "/").replace("_py", ".py"): content for key, content in files.items()}
    return {"SKILL.md": f"{header}# {name}\n\n{text}\n", **more}


def packed(files: Mapping[str, str]) -> bytes:
    return pack(SkillTree({path: TreeFile(text.encode()) for path, text in files.items()}))


class Workshop:
    """A registry in a folder, which nothing is held in unless a test says so."""

    def __init__(
        self,
        folder: Path,
        *,
        private: bool = False,
        hold: tuple[str, ...] = (),
        limits: RateLimits = MANY,
        place: str = "",
        **settings: Any,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.place = place or registry_databases.new_place(folder)
        self.registry = Registry(
            registry_databases.opened(self.place), open_blobs(folder / "blobs"), Visibility(private)
        )
        self.server = Server(self.registry, ServerSettings(BASE, hold=hold, limits=limits, **settings))
        self.app = create_app(self.server)

    def client(self, token: str = "") -> TestClient:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return TestClient(self.app, BASE, headers=headers, follow_redirects=False)

    def token(self, user: str = "ada", owner: str = "acme", *scopes: str) -> str:
        return self.server.accounts.add_token(OPERATOR, user, scopes or ("read", "publish"), owner)

    def caller(self, token: str) -> Caller:
        found = self.server.accounts.caller(token)
        assert found is not None
        return found

    def publish(self, token: str, files: Mapping[str, str], version: str = "", owner: str = "acme") -> Any:
        return self.server.publisher.publish_archive(
            self.caller(token), owner, packed(files), version=version
        )

    def change(self, title: str, action: str, reason: str = "why") -> None:
        place, _, number = title.partition("@")
        owner, _, name = place.partition("/")
        from skillkit.registry.access import Purpose

        skill = self.registry.skill(OPERATOR, name, owner, Purpose.FETCH)
        self.registry.change(OPERATOR, skill, number, action, reason)
