"""Command-line wording for the remedies of library errors."""

import shlex

from skillkit.install.exceptions import InstallError, Remedy

_WORDS = {
    Remedy.ALLOW_MORE: "Allow more with --max-files and --max-bytes if you expected that.",
    Remedy.ANOTHER_NAME: "Install it under another name with --name, or remove the other one first.",
    Remedy.CHOOSE: "Say which with --skill NAME, or --all.",
    Remedy.CONSENT: "Pass --yes.",
    Remedy.CONSENT_COMMIT: "Pass --yes together with a full commit (--ref), or --trusted.",
    Remedy.CONSENT_DIGEST: "Pass --yes together with --digest.",
    Remedy.CONSENT_TRUSTED: "Pass --trusted.",
    Remedy.CONSENT_LOCK: "Pass --yes after reading the lock, or --trusted.",
    Remedy.GIVE_PATH: "Say where to look with --path.",
    Remedy.MAYBE_SKILL: "If you meant the skill: --skill {skill}.",
    Remedy.OVERWRITE_EDITS: (
        "To replace the files and keep yours for rollback: agent skill update {skill} --overwrite-edits"
    ),
    Remedy.UPDATE: "Install both with --name, or update it: agent skill update {skill}",
    Remedy.UPDATE_AGAIN: "Run: agent skill update {skill}",
    Remedy.VALIDATE: "Run: agent skill validate {skill}",
    Remedy.WRITE_LOCK: "Write one with: agent skill sync --write",
}


def advise(remedy: Remedy, skill: str) -> str:
    """Return the command for a remedy."""
    return _WORDS[remedy].format(skill=shlex.quote(skill))


def explain(error: Exception) -> str:
    """Return the message of an error, with its remedy as a command."""
    text = str(error)
    if not isinstance(error, InstallError) or error.remedy is None:
        return text
    words = advise(error.remedy, error.skill)
    return f"{text} {words}" if text.endswith((".", ":", "!", "?")) else f"{text}. {words}"
