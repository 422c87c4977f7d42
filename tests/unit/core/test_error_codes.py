"""The words for errors in `--json` output belong to the interface: no other change may change one."""

import ast
import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

import skillkit
from skillkit.core.exceptions import SkillsUseError
from skillkit.install.exceptions import DiskError, InstallError, reporting_disk_errors
from skillkit.install.sources.git_errors import git_error

CODES = {
    "AccessError": "authentication",
    "AgentError": "agent",
    "AmbiguousError": "ambiguous",
    "ArgumentProcessingError": "argument-processing",
    "AsyncStateError": "async-state",
    "BlockedError": "blocked",
    "CancelledError": "cancelled",
    "ChangedContentError": "changed-content",
    "ChangedFolderError": "changed-folder",
    "ChangedTreeError": "changed-tree",
    "ConfigurationError": "configuration",
    "ConflictError": "conflict",
    "ConsentError": "consent",
    "ContentLoadError": "content-load",
    "ConversationError": "conversation",
    "DependencyError": "dependency",
    "DiskError": "disk",
    "DocumentError": "document",
    "DriftError": "drift",
    "EndedRunError": "ended-run",
    "EngineLostError": "engine-lost",
    "FleetError": "fleet",
    "ForbiddenError": "forbidden",
    "FormatError": "format",
    "GitError": "git",
    "InputsError": "inputs",
    "InstallError": "install",
    "InvalidFrontmatterError": "invalid-frontmatter",
    "InvalidYAMLError": "invalid-yaml",
    "LocalEditsError": "local-edits",
    "LockFileError": "lock-file",
    "ManifestNotFoundError": "manifest-not-found",
    "ManifestParseError": "manifest-parse",
    "ManifestValidationError": "manifest-validation",
    "MissingError": "missing",
    "MissingRequiredFieldError": "missing-required-field",
    "ModelFileError": "model-file",
    "NameConflictError": "name-conflict",
    "NetworkError": "network",
    "NoRecordingError": "no-recording",
    "NoSandboxError": "no-sandbox",
    "NoWorkerError": "no-worker",
    "NotInstalledError": "not-installed",
    "NotThereError": "not-there",
    "PackedTreeError": "packed-tree",
    "PathSecurityError": "path-security",
    "PluginError": "plugin",
    "ProviderError": "provider",
    "QueueFullError": "queue-full",
    "RefNotFoundError": "ref-not-found",
    "RefusedError": "refused",
    "RefusedRequestError": "refused-request",
    "RefusedRunError": "refused-run",
    "RefusedYAMLError": "refused-yaml",
    "RegistryError": "registry",
    "RegistryServerError": "registry-server",
    "RejectedError": "rejected",
    "RemoteSkillError": "remote-skill",
    "RunCancelledError": "run-cancelled",
    "SandboxError": "sandbox",
    "SealError": "seal",
    "SecretError": "secret",
    "SessionDataError": "session-data",
    "SettingsError": "settings",
    "SignatureError": "signature",
    "SizeLimitExceededError": "size-limit-exceeded",
    "SkillInvocationError": "skill-invocation",
    "SkillNotFoundError": "skill-not-found",
    "SkillParsingError": "skill-parsing",
    "SkillRefusedError": "skill-refused",
    "SkillSecurityError": "skill-security",
    "SourceError": "source",
    "StaleRecordingError": "stale-recording",
    "StateFileError": "state-file",
    "SuspiciousInputError": "suspicious-input",
    "TooLargeError": "too-large",
    "TooManyError": "too-many",
    "ToolsetError": "toolset",
    "UnauthorizedError": "unauthorized",
    "UnfinishedAnswerError": "unfinished-answer",
    "UnknownOutcomeError": "unknown-outcome",
    "UnreachableError": "unreachable",
    "UnsafeTreeError": "unsafe-tree",
    "WorkerGoneError": "worker-gone",
    "_RedirectedError": "redirected",
}
"""By the class; whoever renames a class changes the left side alone."""
KINDS = {"SkillsUseError", *CODES}


def declared() -> Iterator[tuple[str, str | None]]:
    """Yield every class of an error and its code, which no import is needed for."""
    for file in Path(skillkit.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.ClassDef) and KINDS.intersection(map(ast.unparse, node.bases)):
                codes = {each.arg: ast.literal_eval(each.value) for each in node.keywords}
                yield node.name, codes.get("code")


def test_every_error_has_the_code_that_programs_know() -> None:
    assert dict(declared()) == CODES
    assert len(set(CODES.values())) == len(CODES)


def test_a_new_class_has_the_code_of_its_parent() -> None:
    class RenamedError(InstallError):
        pass

    assert (RenamedError("no").error_code, SkillsUseError().error_code) == ("install", "skills-use")


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("fatal: '/tmp/nope.git' does not appear to be a git repository", "repository-not-found"),
        ("fatal: Authentication failed for 'https://example.com/x.git'", "authentication"),
        ("fatal: Could not resolve host: example.com", "network"),
        ("fatal: remote error: upload-pack: not our ref 0123", "ref-not-found"),
        ("fatal: write error: No space left on device", "disk-space"),
        ("fatal: something else", "git"),
    ],
)
def test_what_git_says_has_a_code_of_its_own(said: str, code: str) -> None:
    assert git_error("https://example.com/x.git", said).error_code == code


@pytest.mark.parametrize(("number", "code"), [(errno.ENOSPC, "disk-space"), (errno.EACCES, "disk")])
def test_a_full_disk_is_told_from_one_that_cannot_be_read(number: int, code: str) -> None:
    with pytest.raises(DiskError) as raised, reporting_disk_errors():
        raise OSError(number, "reason")
    assert raised.value.error_code == code
