"""What can be done about a failure whose cause lies around the script and not in it."""

import re

from skillkit.scripts.lacking import SHARED_MEMORY
from skillkit.scripts.models import ScriptResult
from skillkit.scripts.network.attempts import Attempt

_SHOWN = 5

_NO_SEMAPHORE = b"SemLock"
_MISSING_MODULE = re.compile(rb"ModuleNotFoundError: No module named '([A-Za-z_][A-Za-z0-9_.]{0,200})'\s*$")
_OWN_FOLDER = "scripts"
_DISTRIBUTIONS = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "Crypto": "pycryptodome",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "fitz": "PyMuPDF",
    "git": "GitPython",
    "jwt": "PyJWT",
    "OpenSSL": "pyOpenSSL",
    "PIL": "pillow",
    "pptx": "python-pptx",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
}
"""Where the name of a package is not the name of its module; only these are known for sure."""


def hint_for(result: ScriptResult) -> str:
    """Return a line to add to the message of a failure, or nothing."""
    if refused := [attempt for attempt in result.network if not attempt.allowed]:
        shown = ", ".join(dict.fromkeys(_attempted(attempt) for attempt in refused[:_SHOWN]))
        return (
            f"\nThe script tried to reach {shown}. What it may reach is what the skill asks for in "
            "permissions.hosts and you grant"
        )
    said = result.stderr.ending(4096)
    if (missing := _MISSING_MODULE.search(said)) is not None:
        return f"\n{_missing_module(missing[1].decode())}"
    if result.backend == "landlock" and _NO_SEMAPHORE in said:
        return f"\n{SHARED_MEMORY.format(result.backend)}"
    return ""


def _attempted(attempt: Attempt) -> str:
    port = "" if attempt.port is None else f" ({attempt.port})"
    return f"{attempt.host}{port}: {attempt.reason}"


def _missing_module(name: str) -> str:
    top = name.partition(".")[0]
    if top == _OWN_FOLDER:
        return "The script imports its own folder by name, so it is meant to be run as a module of the skill"
    package = _DISTRIBUTIONS.get(top)
    wanted = f"'{package}'" if package else f"the package that has '{top}' (perhaps of the same name)"
    return (
        f"The script imports '{name}' and does not declare it. Nothing is installed by a guess: "
        f"declare {wanted} in the script, "
        f"as '# /// script', '# dependencies = [\"{package or '…'}\"]', '# ///'"
    )
