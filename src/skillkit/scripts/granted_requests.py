"""Requests for a runner, from a call and its grants."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from skillkit.core.grants import Grants, Limits
from skillkit.core.hosts import HostRule, granted_rules
from skillkit.core.models import SkillMetadata
from skillkit.core.pythons import header_clauses
from skillkit.scripts.arguments import command_line, offers_json
from skillkit.scripts.catalogue import Script
from skillkit.scripts.exceptions import RefusedRequestError
from skillkit.scripts.hints import MISSING_SECRET
from skillkit.scripts.inputs import Inputs, InputsError, input_files, with_input_names, with_project_paths
from skillkit.scripts.models import ScriptRequest
from skillkit.scripts.network.secrets import Secret
from skillkit.scripts.secret_store import SecretError


def run_request(
    skill: SkillMetadata,
    script: Script,
    digest: str,
    grants: Grants,
    arguments: Sequence[str] | None = None,
    *,
    as_json: bool | None = True,
    seconds: float | None = None,
    inputs: Inputs | None = None,
    limits: Limits | None = None,
    secret_value: Callable[[str], str | None] = lambda name: None,
) -> ScriptRequest:
    """Return the request for a run; raise RefusedRequestError if it is refused.

    `as_json` None asks for JSON if the script has `--json`. `limits` are the caller's own, where the user has
    granted no others; `secret_value` looks up a secret of the user's.
    """
    limits = (grants.limits or limits or Limits.from_environment()).lowered(skill.permissions.timeout)
    limits = limits.lowered(seconds)
    inputs = inputs or {}
    try:
        files = input_files(inputs)
    except InputsError as error:
        raise RefusedRequestError("invalid_arguments", str(error)) from error
    line = command_line(arguments, limits, as_json=as_json is not False and offers_json(skill, script))
    environment = _granted_environment(skill, grants, os.environ)
    try:
        rules = granted_rules(grants.hosts, os.environ)
        rules += tuple(HostRule.parse(host, private=True) for host in grants.private_hosts)
    except ValueError as error:
        message = f"What was granted to '{skill.name}' cannot be read: {error}"
        raise RefusedRequestError("permission_denied", message) from error
    return replace(
        _bare_request(skill, script, digest, grants),
        arguments=with_project_paths(with_input_names(line, inputs), grants.project),
        limits=limits,
        environment=environment,
        network=grants.network,
        hosts=tuple(str(rule) for rule in rules if not rule.private or "." not in rule.name),
        private_hosts=tuple(str(rule) for rule in rules if rule.private and "." in rule.name),
        secrets=_secrets(grants, secret_value),
        read_paths=_existing(grants.read_paths),
        write_paths=_existing(grants.write_paths),
        inputs=files,
        project=grants.project,
        hidden=grants.hidden if grants.project is not None else (),
        retry_safe=script.retry_safe,
    )


def help_request(
    skill: SkillMetadata, script: Script, digest: str, grants: Grants, limits: Limits | None
) -> ScriptRequest:
    """Return the request for `--help`, without grants except those for dependencies."""
    request = _bare_request(skill, script, digest, grants)
    return replace(request, arguments=("--help",), limits=limits or Limits.from_environment())


def _bare_request(skill: SkillMetadata, script: Script, digest: str, grants: Grants) -> ScriptRequest:
    """Return the fields of a request that describe a script and its dependencies."""
    return ScriptRequest(
        skill=skill.name,
        base_dir=skill.base_dir.absolute(),
        digest=digest,
        script=script.relative_path,
        version=skill.version,
        packages=grants.packages,
        node_packages=grants.node_packages,
        requires_python=header_clauses(skill.requires.python or ""),
        unsandboxed=grants.unsandboxed,
        source_builds=grants.source_builds,
        other_sources=grants.other_sources,
    )


def _granted_environment(skill: SkillMetadata, grants: Grants, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the granted variables that are set; one that was neither granted nor withheld is refused."""
    granted: dict[str, str] = {}
    for name, value in environ.items():
        if _matches(name, grants.env):
            granted[name] = value
        elif _matches(name, skill.permissions.env) and not _matches(name, grants.withheld_env):
            message = f"Env var '{name}' not in allowlist; grant or withhold it for this skill"
            raise RefusedRequestError("permission_denied", message)
    return granted


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _secrets(grants: Grants, secret_value: Callable[[str], str | None]) -> tuple[Secret, ...]:
    found = []
    for asked in grants.secrets:
        try:
            value = secret_value(asked.name)
        except SecretError as error:
            raise RefusedRequestError("permission_denied", str(error)) from error
        if not value:
            message = f"The script needs the secret {asked.name}, which is not set"
            raise RefusedRequestError("permission_denied", message, MISSING_SECRET, asked.name)
        found.append(Secret(asked.name, asked.hosts, asked.header, value))
    return tuple(found)


def _existing(paths: tuple[Path, ...]) -> tuple[Path, ...]:
    return tuple(path.absolute() for path in paths if os.path.lexists(path))
