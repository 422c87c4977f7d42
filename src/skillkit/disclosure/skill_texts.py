"""Catalogue, instructions and files of skills as plain text, without a session: three tiers for programs."""

import asyncio
import logging
from typing import Literal

from skillkit.core.exceptions import ConfigurationError, SizeLimitExceededError, SkillsUseError
from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata
from skillkit.core.resources import MAX_PAGE
from skillkit.disclosure.activator import Activator
from skillkit.disclosure.exceptions import SkillRefusedError
from skillkit.disclosure.offer import Offers

logger = logging.getLogger(__name__)

ResourceKind = Literal["scripts", "references", "assets"]
KINDS: tuple[ResourceKind, ...] = ("scripts", "references", "assets")
MAX_RESOURCE_TEXT = 8 * 1024 * 1024


class SkillTexts:
    """Texts of the usable skills of a manager."""

    manager: SkillManager
    _activator: Activator
    _offers: Offers

    def tier1_context(self, budget: int | None = None) -> str:
        """Return the list of skills as XML in at most `budget` tokens; empty when no skill is on offer."""
        return self._offers.in_full(budget).text

    def get_skill_names(self) -> list[str]:
        """Return the ids on offer, sorted."""
        return list(self._offers.current().ids)

    def get_skill(self, name: str) -> SkillMetadata | None:
        """Return a skill that may be used, whether or not it is offered to models."""
        self._offers.current()  # fills an unfilled manager
        skill = self.manager.find_skill(name)
        return skill if skill is not None and self.manager.refusal(skill) is None else None

    async def tier2_context(self, name: str) -> str | None:
        """Return the instructions of a skill; None if it is missing or may not be used.

        Raises SizeLimitExceededError if they exceed the limit of `load_skill`.
        """
        return await asyncio.to_thread(self._text, name)

    async def tier3_resource_list(self, name: str, kind: ResourceKind | None = None) -> list[str]:
        """Return the files of a skill: all, or those in `scripts/`, `references/` or `assets/`."""
        if kind is not None and kind not in KINDS:
            raise ConfigurationError(f"There is no kind of resource {kind!r}: {', '.join(KINDS)}", "kind")
        if await asyncio.to_thread(self.get_skill, name) is None:
            return []
        resources = await self.manager.alist_resources(name)
        return [found.path for found in resources if kind is None or found.path.startswith(f"{kind}/")]

    async def tier3_resource(self, name: str, path: str) -> str | None:
        """Return the text of a skill's file; None if it is missing, binary, or outside the skill."""
        return await asyncio.to_thread(self._file_text, name, path)

    def _text(self, name: str) -> str | None:
        if self.get_skill(name) is None:
            return None
        try:
            text = self.manager.invoke_skill(name)
            self._activator.check_size(name, text)
            return text
        except SkillRefusedError as refused:
            raise SizeLimitExceededError(str(refused)) from refused
        except SkillsUseError as error:
            logger.warning("Cannot read the instructions of skill '%s': %s", name, error)
            return None

    def _file_text(self, name: str, path: str) -> str | None:
        if self.get_skill(name) is None:
            return None
        pages: list[str] = []
        offset: int | None = 0
        while offset is not None:
            if offset > MAX_RESOURCE_TEXT:
                raise SizeLimitExceededError(
                    f"'{path}' of skill '{name}' has more than {MAX_RESOURCE_TEXT:,} bytes. "
                    "Read it page by page with SkillManager.read_resource."
                )
            try:
                page = self.manager.read_resource(name, path, offset, MAX_PAGE)
            except SkillsUseError as error:
                logger.warning("Cannot read a resource of skill '%s': %s", name, error)
                return None
            if page.text is None:
                return None
            pages.append(page.text)
            offset = page.next_offset
        return "".join(pages)
