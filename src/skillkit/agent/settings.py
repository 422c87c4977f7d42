"""The user's settings: `settings.json` in the agent's home, a few keys, nothing secret."""

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
    """How one provider is reached; keys of services stay in the environment."""

    model: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    """The name of the variable that holds the key, when it is not the usual one."""
    timeout: float | None = None
    """Seconds without a byte after which a request is given up."""
    context: int | None = None
    """The tokens that the model can read, when that is not what the provider assumes."""
    price: str | None = None
    """`READ/WRITTEN`: what a million tokens cost, for the cost of a conversation."""
    skill_models: str | None = None
    """`haiku=MODEL,opus=MODEL`: which model is used for a skill that asks for one by this name."""
    shown_files: str | None = None
    """`image/*,application/pdf`: kinds of files that the model looks at when a script has made one."""

    def models_of_skills(self) -> dict[str, str]:
        """The models that skills may ask for, by the name that they ask with."""
        pairs = (pair.partition("=") for pair in (self.skill_models or "").split(","))
        return {name.strip(): model.strip() for name, _, model in pairs if model.strip()}

    @property
    def kinds_of_shown_files(self) -> tuple[str, ...]:
        """The kinds of `shown_files`."""
        return _parts(self.shown_files or "")


NO_SETTINGS = ProviderSettings()


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set."""

    provider: str | None = None
    """None: the first one that can be used."""
    memory: bool = True
    """Whether facts are remembered across conversations."""
    verbose: bool = False
    tool_calls: int = 40
    """Calls of tools in one turn."""
    turn_tokens: int = 1_000_000
    """Tokens read and written in one turn."""
    hide: str = ""
    """`NAME,NAME`: what scripts see in no project folder, besides keys and the like."""
    pinned: str = ""
    """`NAME,NAME`: skills that are in use in every new conversation from its first request on."""
    tenant: str = ""
    """On whose behalf a policy is asked and a fleet is used."""
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
        """The settings with `key` (`provider`, `memory`, `openai.model`, …) set to `value`."""
        provider, dot, name = key.rpartition(".")
        if name not in (_OF_PROVIDER if dot else _GENERAL) or (dot and provider not in PROVIDERS):
            raise SettingsError(f"There is no setting '{key}'. {_choices()}")
        read = _READERS.get(name, _text)
        if not dot:
            return replace(self, **{name: read(key, value)})
        mended = replace(self.of(provider), **{name: read(key, value) if value else None})
        return replace(self, providers={**self.providers, provider: mended})


class SettingsFile:
    """settings.json; a program that changes one key never loses another's change."""

    def __init__(self, home: Path | None = None) -> None:
        self.path = (home or agent_home()) / "settings.json"

    def load(self) -> Settings:
        try:
            return decode(Settings, read_json(self.path), forgiving=True)
        except (FileNotFoundError, NotADirectoryError):
            return Settings()
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise SettingsError(
                f"{self.path} cannot be read ({error}). "
                "Mend it, or start afresh with: agent config init --force"
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
    """What stands between the commas."""
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
    """Return what takes a value that fits the pattern; `wanted` says what does."""

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
"""How what is typed for a setting becomes its value; the others are any text."""
_GENERAL = [option.name for option in fields(Settings) if option.name != "providers"]
_OF_PROVIDER = [option.name for option in fields(ProviderSettings)]


def _choices() -> str:
    return f"Choose: {', '.join(_GENERAL)}, or PROVIDER.NAME with NAME one of {', '.join(_OF_PROVIDER)}"


def cost_at(price: str | None, read: int, written: int) -> float | None:
    """Return what tokens cost at `READ/WRITTEN` for a million each; None where no price is set."""
    if price is None:
        return None
    for_reading, _, for_writing = price.partition("/")
    return (read * float(for_reading) + written * float(for_writing)) / 1_000_000
