"""Grants of the user to a skill's scripts, and limits of a run."""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from skillkit.core.models import SecretRequest, SkillMetadata
from skillkit.core.text import escape_hidden

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a run; the skill can only lower them, the user may raise them."""

    timeout: float = 60.0
    """Seconds of wall clock."""
    output: int = 1 << 20
    """Bytes of stdout that are kept, head and tail; as much again is kept of stderr."""
    output_kill: int = 512 << 20
    """Bytes of output after which the script is killed."""
    arguments: int = 100
    argument_bytes: int = 4096
    memory: int = 1 << 30
    """Bytes of data of one process, and of resident memory of all of them together."""
    processes: int = 64
    file_size: int = 256 << 20
    work_size: int = 256 << 20
    """Bytes of the private work folder."""
    work_files: int = 20_000
    """Files and folders in it."""
    made_files: int = 20
    """Files of the output folder that are kept."""
    made_size: int = 64 << 20
    """Bytes of the output folder."""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> "Limits":
        """The defaults with SCRIPT_TIMEOUT (seconds) and MAX_SCRIPT_OUTPUT (bytes) applied."""
        limits = cls()
        if timeout := _positive("SCRIPT_TIMEOUT", environ.get("SCRIPT_TIMEOUT", "")):
            limits = replace(limits, timeout=timeout)
        if output := _positive("MAX_SCRIPT_OUTPUT", environ.get("MAX_SCRIPT_OUTPUT", "")):
            limits = replace(limits, output=int(output))
        return limits

    def lowered(self, timeout: float | None) -> "Limits":
        """Return the same limits with a shorter timeout; a longer one changes nothing."""
        if timeout is None or timeout >= self.timeout:
            return self
        return replace(self, timeout=max(timeout, 0.0))


def environment_problems(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return problems of the variables that set limits; an empty one is unset."""
    return [
        f"{name}={escape_hidden(text)} is ignored: it must be a positive number"
        for name in ("SCRIPT_TIMEOUT", "MAX_SCRIPT_OUTPUT")
        if (text := environ.get(name, "")) and _number(text) is None
    ]


@cache
def _positive(name: str, text: str) -> float | None:
    """Return the number in a variable; an invalid value is logged once."""
    for problem in environment_problems({name: text}):
        logger.warning("%s", problem)
    return _number(text)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 < number < float("inf") else None


HIDDEN = (
    *(".env", ".env.*", ".envrc", ".netrc", ".npmrc", ".pypirc", ".pgpass", ".htpasswd"),
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".ssh", ".gnupg", ".aws", ".azure", ".kube"),
    *(".git/config", ".git/modules/*/config", ".git-credentials", ".docker/config.json"),
    *("credentials.json", "service-account*.json", "secrets.*", "*.tfstate", "*.tfvars"),
)
"""Files of a project folder that are hidden from scripts: by name, or by the end of a path."""


@dataclass(frozen=True, slots=True)
class Grants:
    """Decided by the user for one digest of one skill; the default is a sandbox with nothing in it."""

    run: bool = True
    reason: str = ""
    """Why not, when `run` is false."""
    env: tuple[str, ...] = ()
    """Names and patterns such as `KALSHI_*` of variables that scripts may see."""
    withheld_env: tuple[str, ...] = ()
    """Names and patterns that the skill asks for and the user denied."""
    network: bool = False
    """The whole network of this machine."""
    hosts: tuple[str, ...] = ()
    """Hosts by name and nothing else: `api.example.com`, `*.example.com`, `db.example.com:5432`."""
    private_hosts: tuple[str, ...] = ()
    """The same, also where the name is inside this network."""
    secrets: tuple[SecretRequest, ...] = ()
    """Secrets that are put into requests in transit and never shown to scripts."""
    read_paths: tuple[Path, ...] = ()
    write_paths: tuple[Path, ...] = ()
    project: Path | None = None
    """A folder that scripts may read, without what `hidden` names."""
    hidden: tuple[str, ...] = HIDDEN
    """Patterns of names in lower case; with a slash, of the end of a path."""
    packages: str = ""
    """Lock, with hashes, of packages for scripts that declare none themselves."""
    node_packages: str = ""
    """The same for Node.js, as npm locks them: JSON, by the folder that has the `package.json`."""
    unsandboxed: bool = False
    """May run where no sandbox holds."""
    source_builds: bool = False
    """Dependencies may be built from source, which runs their code on this machine."""
    other_sources: bool = False
    """Scripts may name their own indexes, direct URLs and path dependencies."""
    limits: Limits | None = None
    """Limits in place of the defaults, higher or lower."""

    @classmethod
    def as_requested(cls, skill: SkillMetadata) -> "Grants":
        """Return the grants of a user who accepts everything the skill's header asks for."""
        asked = skill.permissions
        return cls(env=asked.env, network=asked.network, hosts=asked.hosts, secrets=asked.secrets)
