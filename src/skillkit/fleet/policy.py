"""The policy of a fleet: weights, limits and rates of tenants, in a file on the gateway's machine."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from skillkit.core.codec import decode
from skillkit.core.disk import agent_home
from skillkit.core.exceptions import ConfigurationError
from skillkit.core.foreign_json import read_json

SETTING = "SKILLKIT_FLEET_POLICY"


@dataclass(frozen=True, slots=True)
class Share:
    """The share of one tenant."""

    weight: float = 1.0
    """Of two waiting tenants, one with twice the weight starts twice as many runs."""
    waiting: int = 1000
    """Limit of waiting runs; further ones are refused."""
    running: int | None = None
    """Limit of concurrent runs; None for the number of slots."""
    rate: float | None = None
    """Average limit of starts per second; None for no limit."""
    burst: int = 10
    """Limit of starts in a burst, if there is a rate."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value is not None and not 0 < value < float("inf"):
                raise ValueError(f"'{name}' must be a number above 0")


@dataclass(frozen=True, slots=True)
class Policy:
    """The shares of all tenants."""

    default: Share = Share()
    tenants: Mapping[str, Share] = field(default_factory=dict)

    def share(self, tenant: str) -> Share:
        return self.tenants.get(tenant, self.default)


def read_policy(path: Path | None = None) -> Policy:
    """Read the policy from a JSON file; without the file all tenants have equal shares."""
    path = path or policy_path()
    try:
        data = read_json(path)
        default = data.get("default", {})
        tenants = {name: {**default, **words} for name, words in data.get("tenants", {}).items()}
        return decode(Policy, {**data, "tenants": tenants})
    except FileNotFoundError:
        return Policy()
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ConfigurationError(f"The fleet's policy {path} cannot be used: {error}", SETTING) from error


def policy_path() -> Path:
    """Return the path of the policy on the gateway's machine."""
    return Path(os.path.expanduser(os.environ.get(SETTING) or agent_home() / "fleet.json"))
