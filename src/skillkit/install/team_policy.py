"""policy.json: skills and hosts a team allows or denies, overriding user approvals.

    {"version": 1,
     "allow": [{"skill": "acme-*"}, {"skill": "pdf", "digest": "sha256:…"}, {"signer": "sha256:…"}],
     "deny":  [{"skill": "old-*"}, {"digest": "sha256:…"}, {"host": "*.example.net"}]}

A denied skill is never used. With skills in `allow`, a skill has to be named there, too; with hosts in
it, scripts reach no others. An invalid file denies everything: a rule that is not applied is worse
than a blocked skill.
"""

import os
import re
import stat
from copy import copy
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from skillkit.core.authority import Authority, Requester, WrappedAuthority
from skillkit.core.availability import Refusal
from skillkit.core.codec import decode
from skillkit.core.digest_memo import tree_digests
from skillkit.core.disk import DamagedFileError, JsonFile, agent_home
from skillkit.core.exceptions import SkillsUseError, StateFileError
from skillkit.core.extras import pip_install
from skillkit.core.grants import Grants
from skillkit.core.models import SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.install.signatures import can_verify, skill_signers

FORMAT = 1
_FINGERPRINT = re.compile(r"sha256:[0-9a-f]{64}")
SYSTEM = Path("/etc/skillkit/policy.json")


@dataclass(frozen=True, slots=True)
class Rule:
    """Skills with this name, or pattern of names, this digest and this signer; an empty field is any."""

    skill: str = ""
    digest: str = ""
    signer: str = ""
    """`sha256:…` of a certificate: the one that signed the skill, or one that stands behind it."""
    host: str = ""
    """A host, or a pattern of hosts, that scripts may or may not reach; such a rule is about nothing else."""

    @classmethod
    def from_data(cls, data: Any) -> "Rule":
        """Parse a rule. Raises ValueError if it is invalid."""
        rule = decode(cls, data)
        if bool(rule.host) == bool(rule.skill or rule.digest or rule.signer):
            raise ValueError("a rule names either a skill or a host")
        if rule.signer and not _FINGERPRINT.fullmatch(rule.signer):
            raise ValueError("a signer is the digest of a certificate, sha256:…")
        if rule.signer and not can_verify():
            raise ValueError(f"verifying signatures requires: {pip_install('secrets')}")
        return rule

    def covers(self, skill: SkillMetadata, digest: str) -> bool:
        """Return whether the rule is about this skill with these bytes."""
        if self.host:
            return False
        named = not self.skill or fnmatchcase(skill.canonical_name, canonical_name(self.skill))
        if not named or (self.digest and self.digest != digest):
            return False
        return not self.signer or self.signer in _signed_by(skill, digest)


@dataclass(frozen=True, slots=True)
class TeamPolicy:
    """The rules of one file."""

    path: Path
    allow: tuple[Rule, ...] | None = None
    """None where every skill is allowed that is not denied."""
    deny: tuple[Rule, ...] = ()
    problem: str = ""
    """Why the file cannot be obeyed; nothing is allowed then."""

    def refusal(self, skill: SkillMetadata, digest: str) -> Refusal | None:
        """Return why the team denies this skill with these bytes; None if it allows it."""
        if self.problem:
            return Refusal(
                "disabled", f"The policy {self.path} cannot be applied ({self.problem}); fix it first"
            )
        if any(rule.covers(skill, digest) for rule in self.deny):
            return Refusal("disabled", f"Skill '{skill.name}' is denied by the policy {self.path}")
        allowed = None if self.allow is None else [rule for rule in self.allow if not rule.host]
        only_hosts = bool(self.allow) and not allowed
        if allowed is None or only_hosts or any(rule.covers(skill, digest) for rule in allowed):
            return None
        return Refusal(
            "disabled", f"Skill '{skill.name}' is not among those that the policy {self.path} allows"
        )

    def restricted(self, grants: Grants) -> Grants:
        """Return `grants` without denied hosts and without access to the whole network."""
        allowed = [rule.host for rule in self.allow or () if rule.host]
        denied = [rule.host for rule in self.deny if rule.host]
        if not allowed and not denied:
            return grants

        def kept(hosts: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(
                host
                for host in hosts
                if (not allowed or any(_within(host, each) for each in allowed))
                and not any(_within(host, each) or _within(each, host) for each in denied)
            )

        secrets = (replace(secret, hosts=kept(secret.hosts)) for secret in grants.secrets)
        return replace(
            grants,
            network=False,
            hosts=kept(grants.hosts),
            private_hosts=kept(grants.private_hosts),
            secrets=tuple(secret for secret in secrets if secret.hosts),
        )


def _signed_by(skill: SkillMetadata, digest: str) -> set[str]:
    """Return fingerprints of the signers of these bytes; empty if the signature is invalid."""
    try:
        tree = tree_digests.plain(skill.base_dir)
        signers = skill_signers.signers(skill.base_dir, tree) if tree.digest == digest else ()
    except SkillsUseError:
        return set()
    return {each.fingerprint for each in signers}


def _within(host: str, pattern: str) -> bool:
    """Return whether every name that `host`, perhaps itself a pattern, matches also matches `pattern`."""
    name, wanted = (text.lower().rpartition("://")[2].partition(":")[0] for text in (host, pattern))
    return fnmatchcase(name, wanted)


def read_policy(path: Path) -> TeamPolicy | None:
    """Return the rules of `path`; None when there is no such file."""
    try:
        data = JsonFile(path, FORMAT).read()
        if data is None:
            return None
        if os.name == "posix" and stat.S_IMODE(os.stat(path).st_mode) & 0o022:
            return TeamPolicy(path, problem="users other than its owner can write it")
        if unknown := data.keys() - {"version", "allow", "deny"}:
            raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
        allow = data.get("allow")
        return TeamPolicy(
            path,
            None if allow is None else tuple(map(Rule.from_data, allow)),
            tuple(map(Rule.from_data, data.get("deny", ()))),
        )
    except (DamagedFileError, StateFileError, OSError, TypeError, ValueError) as error:
        return TeamPolicy(path, problem=str(error))


class TeamAuthority(WrappedAuthority):
    """Asks the policies of this machine first, then `base`. Policies are read when it is made."""

    def __init__(self, base: Authority, home: Path | None = None, *, system: Path = SYSTEM) -> None:
        super().__init__(base)
        places = (system, (home or agent_home()) / "policy.json")
        self.policies = tuple(policy for place in places if (policy := read_policy(place)) is not None)

    def refusal(
        self, skill: SkillMetadata, requester: Requester, digest: str | None = None
    ) -> Refusal | None:
        return self.team_refusal(skill, digest)

    def grants(self, skill: SkillMetadata, digest: str, requester: Requester) -> Grants:
        grants = super().grants(skill, digest, requester)
        for policy in self.policies:
            grants = policy.restricted(grants)
        return grants

    def around(self, base: Authority) -> "TeamAuthority":
        """Return the same policies around another authority."""
        other = copy(self)
        other.base = base
        return other

    def team_refusal(self, skill: SkillMetadata, digest: str | None = None) -> Refusal | None:
        """Return the refusal of the first policy that refuses; `digest` is the tree's, if known."""
        if not self.policies:
            return None
        if digest is None:
            try:
                digest = tree_digests.plain(skill.base_dir).digest
            except SkillsUseError as error:
                return Refusal("disabled", f"The policy cannot be applied to '{skill.name}': {error}")
        refusals = (policy.refusal(skill, digest) for policy in self.policies)
        return next((refused for refused in refusals if refused is not None), None)
