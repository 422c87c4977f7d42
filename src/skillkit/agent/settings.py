"""User settings: `settings.json` in the agent's home; a few keys, no secrets."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from skillkit.agent.exceptions import SettingsError
from skillkit.agent.providers import PROVIDERS
from skillkit.core.codec import decode
from skillkit.core.disk import agent_home, locked, make_folder, replace_file
from skillkit.core.foreign_json import read_json


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """Settings of one provider; API keys stay in the environment."""

    model: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    """The environment variable that holds the key, if not the default."""
    timeout: float | None = None
    """Timeout in seconds without received data."""
    context: int | None = None
    """Context window in tokens, if different from the provider's default."""
    price: str | None = None
    """`READ/WRITTEN`: price per million tokens, for the cost of a conversation."""
    skill_models: str | None = None
    """`haiku=MODEL,opus=MODEL`: the model to use for a skill that requests one by this name."""
    shown_files: str | None = None
    """`image/*,application/pdf`: media types of script outputs that are passed to the model."""

    def models_of_skills(self) -> dict[str, str]:
        """Return the models that skills may request, by the requested name."""
        pairs = (pair.partition("=") for pair in (self.skill_models or "").split(","))
        return {name.strip(): model.strip() for name, _, model in pairs if model.strip()}

    @property
    def kinds_of_shown_files(self) -> tuple[str, ...]:
        """The media types in `shown_files`."""
        return _parts(self.shown_files or "")


NO_SETTINGS = ProviderSettings()


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of the user."""

    provider: str | None = None
    """None selects the first available provider."""
    memory: bool = True
    """Whether facts are remembered across conversations."""
    verbose: bool = False
    tool_calls: int = 40
    """Limit of tool calls in one turn."""
    turn_tokens: int = 1_000_000
    """Limit of tokens read and written in one turn."""
    hide: str = ""
    """`NAME,NAME`: files hidden from scripts in project folders, in addition to keys and similar files."""
    pinned: str = ""
    """`NAME,NAME`: skills active in every new conversation from its first request on."""
    gate: str = ""
    """`asks` or `hidden`: the program's own tools outside `allowed-tools` of the active skills; empty leaves
    them free."""
    tenant: str = ""
    """The tenant or user for policies and fleets."""
    providers: dict[str, ProviderSettings] = field(default_factory=dict)

    @property
    def hidden(self) -> tuple[str, ...]:
        """The names and patterns of `hide`."""
        return _parts(self.hide)

    @property
    def pinned_skills(self) -> tuple[str, ...]:
        """The names of `pinned`."""
        return _parts(self.pinned)

    def of(self, provider: str) -> ProviderSettings:
        return self.providers.get(provider, NO_SETTINGS)

    def changed(self, key: str, value: str) -> "Settings":
        """Return the settings with `key` (`provider`, `memory`, `openai.model`, …) set to `value`."""
        provider, dot, name = key.rpartition(".")
        if name not in (_OF_PROVIDER if dot else _GENERAL) or (dot and provider not in PROVIDERS):
            raise SettingsError(f"There is no setting '{key}'. {_choices()}")
        read = _READERS.get(name, _text)
        if not dot:
            return replace(self, **{name: read(key, value)})
        changed = replace(self.of(provider), **{name: read(key, value) if value else None})
        return replace(self, providers={**self.providers, provider: changed})


class SettingsFile:
    """settings.json; concurrent changes of different keys are all kept."""

    def __init__(self, home: Path | None = None) -> None:
        self.path = (home or agent_home()) / "settings.json"

    def load(self) -> Settings:
        try:
            return decode(Settings, read_json(self.path), forgiving=True)
        except (FileNotFoundError, NotADirectoryError):
            return Settings()
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise SettingsError(
                f"{self.path} cannot be read ({error}). Fix it, or start over with: agent config init --force"
            ) from error

    def save(self, settings: Settings) -> None:
        text = json.dumps(asdict(settings), indent=2) + "\n"
        make_folder(self.path.parent)
        replace_file(self.path, text.encode(), 0o600)

    def change(self, key: str, value: str) -> Settings:
        with locked(self.path.with_name(".settings.lock")):
            settings = self.load().changed(key, value)
            self.save(settings)
        return settings


def _parts(value: str) -> tuple[str, ...]:
    """Split a comma-separated list."""
    return tuple(name for part in value.split(",") if (name := part.strip()))


def _text(key: str, value: str) -> str:
    return value


def _provider(key: str, value: str) -> str | None:
    if value != "auto" and value not in PROVIDERS:
        raise SettingsError(f"There is no provider '{value}'. Choose one of: {', '.join(PROVIDERS)}")
    return None if value == "auto" else value


def _boolean(key: str, value: str) -> bool:
    match value.strip().lower():
        case "true" | "yes" | "on" | "1":
            return True
        case "false" | "no" | "off" | "0":
            return False
        case _:
            raise SettingsError(f"The setting '{key}' is true or false, not '{value}'")


def _number(key: str, value: str) -> int:
    if not value.isdecimal() or int(value) == 0:
        raise SettingsError(f"The setting '{key}' is a whole number above 0, not '{value}'")
    return int(value)


def _like(pattern: str, wanted: str) -> Callable[[str, str], str]:
    """Return a validator for values that match the pattern; `wanted` describes them."""

    def read(key: str, value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise SettingsError(f"{wanted}, not '{value}'")
        return value

    return read


_READERS: Mapping[str, Callable[[str, str], Any]] = {
    "provider": _provider,
    "memory": _boolean,
    "verbose": _boolean,
    "tool_calls": _number,
    "turn_tokens": _number,
    "gate": _like("asks|hidden|", "The setting 'gate' is asks, hidden or ''"),
    "tenant": lambda key, value: value.strip(),
    "timeout": _number,
    "context": _number,
    "price": _like(
        r"\d+(\.\d+)?/\d+(\.\d+)?", "A price is READ/WRITTEN for a million tokens, such as 0.25/2"
    ),
    "skill_models": _like(
        r"\s*[^\s=,]+\s*=\s*[^\s=,]+\s*(,\s*[^\s=,]+\s*=\s*[^\s=,]+\s*)*",
        "Models of skills are NAME=MODEL,NAME=MODEL",
    ),
    "shown_files": _like(
        r"\s*[a-z]+/[^\s/,]+\s*(,\s*[a-z]+/[^\s/,]+\s*)*",
        "Kinds of files are such as image/*,application/pdf",
    ),
}
"""Validators of typed settings; other settings accept any text."""
_GENERAL = [option.name for option in fields(Settings) if option.name != "providers"]
_OF_PROVIDER = [option.name for option in fields(ProviderSettings)]


def _choices() -> str:
    return f"Choose: {', '.join(_GENERAL)}, or PROVIDER.NAME with NAME one of {', '.join(_OF_PROVIDER)}"


def cost_at(price: str | None, read: int, written: int) -> float | None:
    """Return the cost of tokens at a price of `READ/WRITTEN` per million; None without a price."""
    if price is None:
        return None
    for_reading, _, for_writing = price.partition("/")
    return (read * float(for_reading) + written * float(for_writing)) / 1_000_000
