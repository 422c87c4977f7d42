"""A request together with the copy of the skill and the sandbox that it runs in."""

import os
from dataclasses import dataclass
from pathlib import Path

from skillkit.scripts.capture import Cancellation
from skillkit.scripts.environments import Environment
from skillkit.scripts.interpreters import Interpreter
from skillkit.scripts.models import ScriptRequest
from skillkit.scripts.sandbox.backend import SEARCH_PATH, Backend, Confinement, Mount

_PYTHON_OPTIONS = ("-E", "-s", "-B", "-X", "utf8")
_LOCALE = frozenset(
    "LANG LANGUAGE LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES LC_MONETARY LC_NUMERIC LC_TIME LC_ADDRESS "
    "LC_IDENTIFICATION LC_MEASUREMENT LC_NAME LC_PAPER LC_TELEPHONE".split()
)


@dataclass(frozen=True, slots=True)
class PinnedRun:
    """What is about to start: the bytes in `tree` are those of the request's digest."""

    request: ScriptRequest
    tree: Path
    backend: Backend
    cancellation: Cancellation

    def confinement(
        self, interpreter: Interpreter, environment: Environment | None, work: str
    ) -> Confinement:
        """Return the command and everything it may touch."""
        request, backend = self.request, self.backend
        base_dir = request.base_dir if backend.mounts else self.tree
        script = base_dir / request.script
        readable = {*request.read_paths}
        programs = []
        if environment is None:
            command = (*interpreter.command, os.fspath(script))
            readable.update(interpreter.folders)
            programs.append(os.path.dirname(interpreter.command[0]))
        else:
            command = (str(environment.program), *_PYTHON_OPTIONS, *interpreter.command, os.fspath(script))
            readable.update((environment.folder, environment.python.prefix))
            programs.append(os.fspath(environment.folder / "bin"))
        search = SEARCH_PATH if backend.confines else os.environ.get("PATH", SEARCH_PATH)
        base = {
            "PATH": ":".join(dict.fromkeys([*programs, *search.split(":")])),
            "HOME": work,
            "TMPDIR": work,
            **{name: value for name, value in os.environ.items() if name in _LOCALE},
            "SKILL_NAME": request.skill,
            "SKILL_BASE_DIR": os.fspath(base_dir),
            "SKILL_VERSION": request.version or "",
        }
        return Confinement(
            command=(*command, *request.arguments),
            folder=script.parent,
            environment={name: _passable(value) for name, value in {**base, **request.environment}.items()},
            limits=request.limits,
            read_only=(Mount(self.tree, base_dir), *(Mount(path, path) for path in sorted(readable))),
            writable=tuple(Mount(path, path) for path in sorted(request.write_paths)),
            network=request.network,
        )


def _passable(value: str) -> str:
    """What a header says may hold what no environment can."""
    return os.fsdecode(os.fsencode(value.replace("\0", "").encode("utf-8", "surrogateescape")))
