"""An MCP server as an open source of skills: what it announces is listed, what is wanted is fetched."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from mcp import Client

from skillkit.core.exceptions import SkillsUseError
from skillkit.core.names import canonical_name
from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import InstallError, NetworkError, SourceError
from skillkit.install.sources.files import OpenFiles
from skillkit.install.sources.layout import LeftOut, Listing
from skillkit.install.sources.source import Access, OpenOneByOne, Source
from skillkit.install.tree import SkillTree, TreeFile, TreeLimits, refuse_large
from skillkit.integrations.mcp.remote import RemoteSkill, announced, ask, fetch_files

Answer = TypeVar("Answer")


class OpenServer(OpenOneByOne):
    """The skills of a server as it announced them when it was asked, by name."""

    def __init__(self, followed: Source, url: str, access: Access) -> None:
        self.followed = followed
        self._url = url
        self._access = access
        self._skills: dict[str, RemoteSkill] = {}
        self._left_out: list[LeftOut] = []
        for skill in self._ask(lambda client: announced(client, url)):
            if canonical_name(skill.name) in {canonical_name(name) for name in self._skills}:
                reason = "the server offers another skill of that name; the first is taken"
                self._left_out.append(LeftOut(skill.uri, reason))
            else:
                self._skills[skill.name] = skill
        offered = sorted((skill.uri, skill.digest) for skill in self._skills.values())
        self.revision = f"sha256:{hashlib.sha256(json.dumps(offered).encode()).hexdigest()}"

    def listing(self, start: str = "") -> Listing:
        names = [name for name in self._skills if not start or name == start]
        if start and not names:
            raise InstallError(f"{self.followed.location} has no skill '{escape_hidden(start)}' any more")
        return Listing(tuple(sorted(names)), tuple(self._left_out))

    def headers(self, paths: Sequence[str]) -> list[bytes]:
        return [f"---\n{json.dumps(dict(self._skills[path].frontmatter))}\n---\n".encode() for path in paths]

    def read_one(self, path: str, limits: TreeLimits) -> SkillTree:
        if (skill := self._skills.get(path)) is None:
            raise InstallError(f"{self.followed.location} has no skill '{escape_hidden(path)}' any more")
        refuse_large(len(skill.tree.files), sum(file.size for file in skill.tree.files.values()), limits)
        raw = self._ask(partial(fetch_files, skill=skill))
        files = {name: TreeFile(content) for name, content in raw.items()}
        return OpenFiles(self.followed, files, None).read_one("", limits)

    def holds(self, path: str, tree: SkillTree) -> bool:
        skill = self._skills.get(path)
        return skill is not None and skill.tree == tree.digest

    def _ask(self, question: Callable[[Client], Awaitable[Answer]]) -> Answer:
        """What the server answers, in time."""

        async def asking() -> Answer:
            async with asyncio.timeout(self._access.timeout):
                return await ask(self._url, self._url, question)

        try:
            return asyncio.run(asking())
        except TimeoutError as error:
            raise NetworkError(f"{self.followed}: no end after {self._access.timeout:.0f} seconds") from error
        except SkillsUseError as error:
            raise SourceError(str(error)) from error
