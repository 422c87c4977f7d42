"""From a call and what was granted to the request that a runner executes."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

from skillkit.core.exceptions import SkillsUseError
from skillkit.core.grants import Grants, Limits
from skillkit.core.hosts import HostRule, granted_rules
from skillkit.core.models import Permissions, SkillMetadata
from skillkit.core.pythons import header_clauses
from skillkit.scripts.arguments import ArgumentsError, command_line, offers_json
from skillkit.scripts.catalogue import Script
from skillkit.scripts.hints import MISSING_SECRET
from skillkit.scripts.inputs import Inputs, InputsError, input_files, with_input_names, with_project_paths
from skillkit.scripts.models import ScriptRequest, ScriptResult
from skillkit.scripts.network.secrets import Secret
from skillkit.scripts.payloads import Payload, help_payload, run_payload
from skillkit.scripts.script_help import WrittenHelp


class DeniedVariableError(Exception):
    """A variable is set and asked for, but was neither granted nor withheld on purpose."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Env var '{name}' not in allowlist")
        self.name = name


class RefusedRequestError(SkillsUseError):
    """What was asked for cannot be run; `code` is the one of the answer."""

    def __init__(self, code: str, message: str, cause: str = "", subject: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.cause = cause
        self.subject = subject


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A script that was found and may run, and how its result is answered."""

    script: Script
    request: ScriptRequest
    asked: Permissions
    as_json: bool | None = False
    help: bool = False
    written: WrittenHelp | None = None
    """What to answer where the script prints no help."""
    help_as_text: bool = False
    """A run was asked for its help, and for text."""

    def payload(self, result: ScriptResult) -> Payload:
        if self.help:
            return help_payload(self.script.name, self.request, result)
        return run_payload(self.script.name, self.request, result, as_json=self.as_json)


@dataclass(frozen=True, slots=True)
class RunCall:
    """What a caller says about one run."""

    arguments: Sequence[str] | None = None
    as_json: bool | None = True
    """Whether the output must be one JSON document; None parses it if the script has `--json`."""
    seconds: float | None = None
    inputs: Inputs = field(default_factory=dict)
    limits: Limits | None = None
    """The caller's own, where the user has granted no others."""
    secret_value: Callable[[str], str | None] = lambda name: None
    """Looks up a secret of the user's."""


def run_request(
    skill: SkillMetadata, script: Script, digest: str, grants: Grants, call: RunCall
) -> ScriptRequest:
    """Return the request for a run; RefusedRequestError says why there is none."""
    limits = (grants.limits or call.limits or Limits.from_environment()).lowered(skill.permissions.timeout)
    limits = limits.lowered(call.seconds)
    try:
        inputs = input_files(call.inputs)
        wants_json = call.as_json is not False and offers_json(skill, script)
        arguments = command_line(call.arguments, limits, as_json=wants_json)
        environment = granted_environment(skill, grants, os.environ)
        rules = granted_rules(grants.hosts, os.environ)
        rules += tuple(HostRule.parse(host, private=True) for host in grants.private_hosts)
    except ArgumentsError as error:
        raise RefusedRequestError(error.code, str(error)) from error
    except InputsError as error:
        raise RefusedRequestError("invalid_arguments", str(error)) from error
    except DeniedVariableError as error:
        message = f"{error}; grant or withhold it for this skill"
        raise RefusedRequestError("permission_denied", message) from error
    except ValueError as error:
        message = f"What was granted to '{skill.name}' cannot be read: {error}"
        raise RefusedRequestError("permission_denied", message) from error
    return replace(
        _bare_request(skill, script, digest, grants),
        arguments=with_project_paths(with_input_names(arguments, call.inputs), grants.project),
        limits=limits,
        environment=environment,
        network=grants.network,
        hosts=tuple(str(rule) for rule in rules if not rule.private or "." not in rule.name),
        private_hosts=tuple(str(rule) for rule in rules if rule.private and "." in rule.name),
        secrets=_secrets(grants, call),
        read_paths=_existing(grants.read_paths),
        write_paths=_existing(grants.write_paths),
        inputs=inputs,
        project=grants.project,
        hidden=grants.hidden if grants.project is not None else (),
        retry_safe=script.retry_safe,
    )


def help_request(
    skill: SkillMetadata, script: Script, digest: str, grants: Grants, limits: Limits | None
) -> ScriptRequest:
    """Return the request for `--help`: nothing of the grants but how dependencies are got."""
    request = _bare_request(skill, script, digest, grants)
    return replace(request, arguments=("--help",), limits=limits or Limits.from_environment())


def _bare_request(skill: SkillMetadata, script: Script, digest: str, grants: Grants) -> ScriptRequest:
    """What a script is, and how its dependencies are got."""
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


def granted_environment(skill: SkillMetadata, grants: Grants, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that scripts of `skill` get: those granted, as they are set now."""
    granted: dict[str, str] = {}
    for name, value in environ.items():
        if _matches(name, grants.env):
            granted[name] = value
        elif _matches(name, skill.permissions.env) and not _matches(name, grants.withheld_env):
            raise DeniedVariableError(name)
    return granted


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _secrets(grants: Grants, call: RunCall) -> tuple[Secret, ...]:
    found = []
    for asked in grants.secrets:
        value = call.secret_value(asked.name)
        if not value:
            message = f"The script needs the secret {asked.name}, which is not set"
            raise RefusedRequestError("permission_denied", message, MISSING_SECRET, asked.name)
        found.append(Secret(asked.name, asked.hosts, asked.header, value))
    return tuple(found)


def _existing(paths: tuple[Path, ...]) -> tuple[Path, ...]:
    return tuple(path.absolute() for path in paths if os.path.lexists(path))
