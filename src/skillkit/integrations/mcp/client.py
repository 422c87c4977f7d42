"""Skills that an MCP server offers, as a source of the catalogue: untrusted until consented by digest."""

import asyncio
import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from mcp import Client

from skillkit.core.authority import Authority, Requester, WrappedAuthority
from skillkit.core.availability import Refusal
from skillkit.core.digest_memo import tree_digests
from skillkit.core.disk import DamagedFileError, JsonFile, agent_home, real_path
from skillkit.core.exceptions import SkillNotFoundError, SkillsUseError
from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata, SkillSource, SourceType
from skillkit.core.names import canonical_name
from skillkit.core.names import refusal as name_refusal
from skillkit.core.parser import SkillParser
from skillkit.core.sources import PRIORITY_LAST
from skillkit.core.text import escape_hidden, one_line
from skillkit.install.added_sources import REMOTE_FOLDER, remote_folder
from skillkit.install.consents import Consent, ConsentFile, ConsentKind
from skillkit.install.exceptions import InstallError, NetworkError, SourceError
from skillkit.install.sources.files import OpenFiles
from skillkit.install.sources.layout import Listing, Skipped
from skillkit.install.sources.source import Access, OpenPerSkill, Source
from skillkit.install.tree import SkillTree, TreeFile, TreeLimits, refuse_large
from skillkit.integrations.mcp.published import SKILL_FILE, frontmatter
from skillkit.integrations.mcp.remote import RemoteSkill, RemoteSkillError, announced, ask, fetch_files

__all__ = ["MCPSkillSource", "RemoteSkill", "RemoteSkillError"]

logger = logging.getLogger(__name__)

FORMAT = 1


class MCPSkillSource:
    """The skills of one server. `server` is whatever the SDK's Client connects to: a URL, stdio
    parameters, or a server in this process; `label` is what the user calls it."""

    def __init__(
        self,
        label: str,
        server: Any,
        *,
        cache: Path | None = None,
        consents: ConsentFile | None = None,
    ) -> None:
        if (problem := name_refusal(label)) is not None:
            raise SkillsUseError(f"Invalid server name {label!r}: it {problem}")
        self.label = label
        self.server = server
        self.consents = consents or ConsentFile()
        self.skills: dict[str, RemoteSkill] = {}
        self.folder = real_path(remote_folder(cache or agent_home() / REMOTE_FOLDER, label))
        self._announced = JsonFile(self.folder / ".announced.json", FORMAT)
        self._manager: SkillManager | None = None

    def attach(self, manager: SkillManager) -> None:
        """Add the skills as a source of `manager`, last in precedence, so that none replaces another."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.skills = self.skills or self._remembered()
        label = f"mcp-{self.label}"
        manager.sources.append(SkillSource(SourceType.CUSTOM, self.folder, PRIORITY_LAST, label=label))
        manager.authority = _RemoteAuthority(self, manager.authority)
        self._manager = manager

    async def sync(self) -> list[RemoteSkill]:
        """Fetch the server's announcements, without files.

        If the request fails this raises, and earlier announcements stay valid: skills with consent are used
        from the verified copies.
        """
        found = await ask(self.server, self.label, lambda client: announced(client, self.label))
        self.skills = {skill.uri: skill for skill in found}
        await asyncio.to_thread(self._write_announcements)
        await self._refresh()
        return found

    async def consent(self, uri: str, digest: str) -> None:
        """Consent to the files with this digest: fetch, verify and keep them."""
        skill = self.skills.get(uri)
        if skill is None:
            raise SkillNotFoundError(
                f"The server '{self.label}' offers no skill at {uri!r}; call sync() first"
            )
        if skill.digest != digest:
            raise RemoteSkillError(
                f"Skill '{one_line(skill.name)}' has changed since it was shown: it is {skill.digest} now"
            )
        files = await ask(self.server, self.label, lambda client: fetch_files(client, skill))
        await asyncio.to_thread(self._keep, skill, files)
        given = Consent(ConsentKind.REMOTE, digest, skill.name, place=uri, server=self.label)
        await asyncio.to_thread(self.consents.grant, given)
        await self._refresh()

    async def revoke(self, uri: str) -> None:
        """Revoke a consent and delete the files."""
        await asyncio.to_thread(self.consents.revoke, where=lambda each: self._concerns(each, uri))
        await asyncio.to_thread(self._write_announcements)
        await self._refresh()

    async def _refresh(self) -> None:
        if self._manager is not None:
            await self._manager.arefresh()

    def refusal(self, skill: SkillMetadata) -> Refusal | None:
        """Return why a skill of this source may not be used."""
        remote = next((each for each in self.skills.values() if self._home(each) == skill.base_dir), None)
        if remote is None:
            return Refusal("unavailable", f"The server '{self.label}' has not announced '{skill.name}'")
        agreed = self._agreed(remote.uri)
        if agreed is None:
            return Refusal(
                "untrusted",
                f"Skill '{skill.name}' comes from the MCP server '{self.label}'; consent is needed",
            )
        try:
            actual = tree_digests.plain(skill.base_dir).digest
        except SkillsUseError as error:
            return Refusal("untrusted", str(error))
        if not agreed == actual == remote.digest:
            return Refusal("untrusted", f"Skill '{skill.name}' has changed since it was consented to")
        return None

    def owns(self, skill: SkillMetadata) -> bool:
        return skill.base_dir.is_relative_to(real_path(self.folder)) or skill.base_dir.is_relative_to(
            self.folder
        )

    def _agreed(self, uri: str) -> str | None:
        return next((each.digest for each in self.consents.load() if self._concerns(each, uri)), None)

    def _concerns(self, consent: Consent, uri: str) -> bool:
        return (consent.kind, consent.server, consent.place) == (ConsentKind.REMOTE, self.label, uri)

    # Saved announcements

    def _home(self, skill: RemoteSkill) -> Path:
        return self.folder / _short(skill.uri) / skill.name

    def _remembered(self) -> dict[str, RemoteSkill]:
        """Return the last announcements; a consent must still match the copy on disk."""
        try:
            entries = (self._announced.read() or {}).get("skills", [])
            skills = [RemoteSkill.of_entry(self.label, entry) for entry in entries]
        except (DamagedFileError, SkillsUseError, TypeError, AttributeError) as error:
            logger.warning("Cannot read the saved announcements of the server '%s': %s", self.label, error)
            return {}
        return {skill.uri: skill for skill in skills}

    def _write_announcements(self) -> None:
        """Write a header for each skill without consent, so that it is listed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._announced.write({"skills": [skill.entry() for skill in self.skills.values()]})
        wanted = {_short(skill.uri): skill for skill in self.skills.values()}
        for present in self.folder.iterdir():
            if present.is_dir() and present.name not in wanted:
                shutil.rmtree(present)
        for skill in wanted.values():
            agreed = self._agreed(skill.uri)
            home = self._home(skill)
            if agreed is not None and agreed == skill.digest and home.is_dir():
                continue
            header = json.dumps(dict(skill.frontmatter), ensure_ascii=True)
            text = f"---\n{header}\n---\nNot fetched: consent is needed.\n"
            self._keep(skill, {SKILL_FILE: text.encode()}, verified=False)

    def _keep(self, skill: RemoteSkill, files: Mapping[str, bytes], *, verified: bool = True) -> None:
        place = self._home(skill).parent
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=".new-") as made:
            home = Path(made) / skill.name
            for path, raw in files.items():
                target = home / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(raw)
            if verified:
                _check_header(skill, home / SKILL_FILE)
            place.mkdir(exist_ok=True)
            if (place / skill.name).exists():
                shutil.rmtree(place / skill.name)
            os.replace(home, place / skill.name)


class _RemoteAuthority(WrappedAuthority):
    """Decides about the skills of one server by consent; about everything else `base` does."""

    def __init__(self, source: MCPSkillSource, base: Authority) -> None:
        super().__init__(base)
        self._source = source

    def refusal(
        self, skill: SkillMetadata, requester: Requester, digest: str | None = None
    ) -> Refusal | None:
        return self._source.refusal(skill) if self._source.owns(skill) else None

    def offer_refusal(self, skill: SkillMetadata, requester: Requester) -> Refusal | None:
        own = self._source.owns(skill)  # the consent counts, and not what `base` thinks of the folder
        return self.refusal(skill, requester) if own else self.base.offer_refusal(skill, requester)


def _check_header(skill: RemoteSkill, file: Path) -> None:
    """Raise RemoteSkillError if the header differs from the announced one."""
    written = frontmatter(SkillParser(recover=True).parse_skill_file(file))
    if not skill.whole_header:
        written = {key: written.get(key) for key in skill.frontmatter}
    if written != dict(skill.frontmatter):
        raise RemoteSkillError(f"The header of {skill.uri} differs from what the server announced")


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


Answer = TypeVar("Answer")


class OpenServer(OpenPerSkill):
    """The announced skills of a server, by name."""

    def __init__(self, followed: Source, url: str, access: Access) -> None:
        self.followed = followed
        self._url = url
        self._access = access
        self._skills: dict[str, RemoteSkill] = {}
        self._left_out: list[Skipped] = []
        for skill in self._ask(lambda client: announced(client, url)):
            if canonical_name(skill.name) in {canonical_name(name) for name in self._skills}:
                reason = "the server offers another skill with that name; the first is used"
                self._left_out.append(Skipped(skill.uri, reason))
            else:
                self._skills[skill.name] = skill
        offered = sorted((skill.uri, skill.digest) for skill in self._skills.values())
        self.revision = f"sha256:{hashlib.sha256(json.dumps(offered).encode()).hexdigest()}"

    def listing(self, start: str = "") -> Listing:
        names = [name for name in self._skills if not start or name == start]
        if start and not names:
            raise InstallError(f"{self.followed.location} no longer has a skill '{escape_hidden(start)}'")
        return Listing(tuple(sorted(names)), tuple(self._left_out))

    def headers(self, paths: Sequence[str]) -> list[bytes]:
        return [f"---\n{json.dumps(dict(self._skills[path].frontmatter))}\n---\n".encode() for path in paths]

    def read_one(self, path: str, limits: TreeLimits) -> SkillTree:
        if (skill := self._skills.get(path)) is None:
            raise InstallError(f"{self.followed.location} no longer has a skill '{escape_hidden(path)}'")
        refuse_large(len(skill.tree.files), sum(file.size for file in skill.tree.files.values()), limits)
        raw = self._ask(partial(fetch_files, skill=skill))
        files = {name: TreeFile(content) for name, content in raw.items()}
        return OpenFiles(self.followed, files, None).read_one("", limits)

    def holds(self, path: str, tree: SkillTree) -> bool:
        skill = self._skills.get(path)
        return skill is not None and skill.tree == tree.digest

    def _ask(self, question: Callable[[Client], Awaitable[Answer]]) -> Answer:
        """Return the server's reply, or raise after the timeout."""

        async def asking() -> Answer:
            async with asyncio.timeout(self._access.timeout):
                return await ask(self._url, self._url, question)

        try:
            return asyncio.run(asking())
        except TimeoutError as error:
            raise NetworkError(f"{self.followed}: timed out after {self._access.timeout:.0f} s") from error
        except SkillsUseError as error:
            raise SourceError(str(error)) from error
