"""Hints for failures caused by the environment and not by the script."""

import re
from dataclasses import dataclass

from skillkit.core.hosts import HTTPS, HostRule
from skillkit.core.text import escape_hidden
from skillkit.scripts.catalogue import FOLDER
from skillkit.scripts.inputs import named_in_project, working_project
from skillkit.scripts.models import ScriptRequest, ScriptResult
from skillkit.scripts.network.attempts import Attempt

MISSING_PACKAGE, MISSING_SECRET, REFUSED_HOST = "missing_package", "missing_secret", "refused_host"
UNSEEN_FILE, OTHER_RELEASE, UNREACHABLE_HOST = "unseen_file", "other_release", "unreachable_host"
_SHOWN = 5

_MISSING_MODULE = re.compile(rb"ModuleNotFoundError: No module named '([A-Za-z_][A-Za-z0-9_.]{0,200})'\s*$")
_MISSING_NODE = re.compile(rb"Cannot find (?:package|module) '((?:@[\w.~-]{1,100}/)?\w[\w.~-]{0,100})[/']")
_OTHER_RELEASE = re.compile(
    rb"ImportError: cannot import name '(\w{1,200})' from '(\w{1,100})[\w.]{0,200}' "
    rb"\([^()\n]{0,1000}site-packages"
)


@dataclass(frozen=True, slots=True)
class Hint:
    """A remedy, and the kind of cause, for a program that has a command for it."""

    cause: str
    text: str
    subject: str = ""
    """The subject, such as a host, if it is safe in a command line."""


def find_hint(result: ScriptResult, request: ScriptRequest | None = None) -> Hint | None:
    """Return a hint for the message of a failure, if any."""
    if refused := [attempt for attempt in result.network if not attempt.allowed]:
        shown = ", ".join(dict.fromkeys(_attempted(attempt) for attempt in refused[:_SHOWN]))
        text = (
            f"The script tried to reach {shown}. It may reach hosts that the skill lists in "
            "permissions.hosts and you grant"
        )
        return Hint(REFUSED_HOST, text, _host(refused[0]))
    if failed := [attempt for attempt in result.network if attempt.failed]:
        shown = ", ".join(dict.fromkeys(_attempted(attempt) for attempt in failed[:_SHOWN]))
        return Hint(UNREACHABLE_HOST, f"The script may reach these hosts, and the connection failed: {shown}")
    said = result.stderr.ending(4096)
    if (missing := _MISSING_MODULE.search(said)) is not None:
        name = missing[1].decode()
        if name.partition(".")[0] == FOLDER:
            text = "The script imports its own folder by name, so it has to be run as a module of the skill"
            return Hint("own_folder", text)
        return Hint(MISSING_PACKAGE, _missing_package(name))
    if (changed := _OTHER_RELEASE.search(said)) is not None:
        text = (
            f"The installed release of '{changed[2].decode()}' has no '{changed[1].decode()}': the "
            "script needs another release and does not pin it"
        )
        return Hint(OTHER_RELEASE, text)
    if (missing := _MISSING_NODE.search(said)) is not None:
        text = (
            f"The script imports '{missing[1].decode()}', a package of Node.js. Nothing is installed "
            "by a guess: accept what the skill's package.json names and its scripts import, once"
        )
        return Hint(MISSING_PACKAGE, text)
    if result.backend == "landlock" and b"SemLock" in said:
        text = (
            f"multiprocessing needs shared memory, which the sandbox '{result.backend}' cannot provide; "
            "install bubblewrap, or use threads"
        )
        return Hint("shared_memory", text)
    return None if request is None else _unseen_file(request)


def _unseen_file(request: ScriptRequest) -> Hint | None:
    project = working_project() if request.project is None else None
    if project is None or not (named := named_in_project(request.arguments, project, request.base_dir)):
        return None
    text = (
        f"The arguments name {escape_hidden(str(named[0]))}, and scripts do not see your files: hand it over "
        "as an input, or let scripts of this skill read the folder"
    )
    return Hint(UNSEEN_FILE, text)


def _host(attempt: Attempt) -> str:
    """Return the host in the form it is granted; empty if it is not a host name: it comes from the script."""
    try:
        port = "" if attempt.port in (None, HTTPS) else f":{attempt.port}"
        return str(HostRule.parse(f"{attempt.host}{port}"))
    except ValueError:
        return ""


def _attempted(attempt: Attempt) -> str:
    port = "" if attempt.port is None else f" ({attempt.port})"
    return f"{attempt.host}{port}: {attempt.reason}"


def _missing_package(name: str) -> str:
    from skillkit.scripts.distributions import distributions_of  # a table of packages, for a failure only

    top = name.partition(".")[0]
    package = next(iter(distributions_of(name)), None)
    wanted = f"'{package}'" if package else f"the package that has '{top}' (perhaps of the same name)"
    return (
        f"The script imports '{name}' and does not declare it. Nothing is installed by a guess: "
        f"accept {wanted} for this skill once, or declare it in the script, "
        f"as '# /// script', '# dependencies = [\"{package or '…'}\"]', '# ///'"
    )
