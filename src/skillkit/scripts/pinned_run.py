"""A request together with the copy of the skill, the packages and the sandbox that it runs in."""

import os
import stat
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from skillkit.core.disk import real_path
from skillkit.core.hosts import ANY_HOST, HTTP, HTTPS, HostRule
from skillkit.scripts.capture import Cancellation
from skillkit.scripts.environments import Environment
from skillkit.scripts.exceptions import DependencyError, RefusedRunError
from skillkit.scripts.inline_metadata import NO_METADATA, InlineMetadata
from skillkit.scripts.inputs import INPUT_FOLDER, InputFile, InputsError, check_project, find_hidden
from skillkit.scripts.interpreters import Interpreter
from skillkit.scripts.models import ScriptRequest
from skillkit.scripts.network.gateway import Gateway
from skillkit.scripts.sandbox.backend import SEARCH_PATH, Backend, Confinement, Mount

_PYTHON_OPTIONS = ("-s", "-B", "-X", "utf8")
_MAX_COPIED = 256 << 20
LOCALE = frozenset(
    "LANG LANGUAGE LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES LC_MONETARY LC_NUMERIC LC_TIME LC_ADDRESS "
    "LC_IDENTIFICATION LC_MEASUREMENT LC_NAME LC_PAPER LC_TELEPHONE".split()
)


def _passable(value: str) -> str:
    """Values of a header may be invalid in an environment."""
    return os.fsdecode(os.fsencode(value.replace("\0", "").encode("utf-8", "surrogateescape")))


class ScriptHead(NamedTuple):
    """Facts about how a script is run, which depend on its bytes alone."""

    metadata: InlineMetadata = NO_METADATA
    first_bytes: bytes = b""
    own_folders: tuple[str, ...] = ()
    """Folders of the skill, besides the script's own, that have modules it imports; "" is the skill's."""
    is_module: bool = False
    """Whether it has relative imports, so that it runs only as `python -m`."""
    takes_packages: bool = False
    """Whether it needs the packages the user accepted: a script with its own metadata does not."""


@dataclass(slots=True)
class PinnedRun:
    """A run ready to start; the bytes in `tree` match the digest of the request."""

    request: ScriptRequest
    tree: Path
    backend: Backend
    cancellation: Cancellation
    head: ScriptHead = field(default_factory=ScriptHead)
    interpreter: Interpreter = field(init=False)
    environment: Environment | None = None
    """For Python scripts."""
    node_modules: Path | None = None
    """Packages for Node.js scripts."""

    def gateway(self) -> Gateway | None:
        """Return the gateway to hosts granted by name, if any; RefusedRunError if it cannot be served."""
        request = self.request
        if request.network and request.secrets:
            names = ", ".join(each.name for each in request.secrets)
            raise RefusedRunError(
                f"Secrets ({names}) cannot be hidden from a script that has the whole network, so "
                "nothing was run; grant hosts by name instead"
            )
        if request.network or not (request.hosts or request.private_hosts or request.secrets):
            return None
        if not getattr(self.backend, "names_hosts", False):  # one of another package may not know
            secret = (host for each in request.secrets for host in each.hosts)
            hosts = ", ".join(dict.fromkeys((*request.hosts, *request.private_hosts, *secret)))
            raise RefusedRunError(
                f"The sandbox '{self.backend.name}' cannot keep a script to the hosts that were granted "
                f"({hosts}), so nothing was run; install bubblewrap, or grant the whole network"
            )
        rules = [HostRule.parse(host) for host in request.hosts if host != ANY_HOST]
        if ANY_HOST in request.hosts:
            rules += [HostRule("", port, wildcard=True) for port in (HTTP, HTTPS)]
        rules += [HostRule.parse(host, private=True) for host in request.private_hosts]
        return Gateway(tuple(rules), request.secrets)

    def _granted_paths(self, held: ExitStack) -> tuple[list[Mount], list[Mount], list[Path]]:
        """Return readable, writable and hidden mounts, open until `held` ends."""
        request = self.request
        read = [_granted(path, held) for path in request.read_paths]
        read += [_given(each, held, in_place=not self.backend.mounts) for each in request.inputs]
        hidden = self._foreign_modules([mount.target for mount in read])
        if request.project is not None:
            project = self._project(request.project)
            read.append(_granted(project, held))
            hidden += find_hidden(project, request.hidden)
            hidden += self._foreign_modules([project])
        # The skill's own files are shown as they were approved, wherever the skill is.
        hidden = [path for path in hidden if not path.is_relative_to(request.base_dir)]
        return read, [_granted(path, held) for path in request.write_paths], hidden

    def _foreign_modules(self, shown: list[Path]) -> list[Path]:
        """Return packages above the skill, which Node.js would load although nobody approved them."""
        if not self.backend.mounts:
            return []
        above = (parent / "node_modules" for parent in self.request.base_dir.parents)
        return [each for each in above if each.is_dir() and any(each.is_relative_to(top) for top in shown)]

    def _node_mounts(self) -> tuple[Mount, ...]:
        """The last folder Node.js searches; nothing can be mounted into a read-only tree."""
        if self.node_modules is None:
            return ()
        if not self.backend.mounts:
            raise DependencyError(
                f"The sandbox '{self.backend.name}' cannot show packages of Node.js to a script; "
                "install bubblewrap"
            )
        return (Mount(self.node_modules, Path("/node_modules")),)

    def _project(self, folder: Path) -> Path:
        if not self.backend.mounts:
            raise InputsError(
                f"The sandbox '{self.backend.name}' cannot hide the keys in a project folder ({folder}), so "
                "nothing was run; install bubblewrap, or hand over single files"
            )
        return check_project(folder)

    def confinement(self, work: str, output: Path, gateway: Gateway | None, held: ExitStack) -> Confinement:
        """Return the command and everything it may touch, open until `held` ends."""
        request, backend = self.request, self.backend
        interpreter, environment = self.interpreter, self.environment
        read, write, hidden = self._granted_paths(held)
        base_dir = request.base_dir if backend.mounts else self.tree
        script = base_dir / request.script
        own = tuple(dict.fromkeys((*self.head.own_folders, *([""] if self.head.is_module else []))))
        search_modules = ":".join(os.fspath(base_dir / folder) for folder in own)
        readable: set[Path] = set()
        programs = []
        if environment is None:
            command = (*interpreter.command, request.command or os.fspath(script))
            readable.update(interpreter.folders)
            programs.append(os.path.dirname(interpreter.command[0]))
        else:
            # PYTHON… variables count only where folders of the skill are put on the path by one.
            options = _PYTHON_OPTIONS if own else ("-E", *_PYTHON_OPTIONS)
            command = (
                str(environment.program),
                *options,
                *interpreter.command,
                *self._started_as(script),
            )
            readable.update((environment.folder, environment.python.prefix))
            programs.append(os.fspath(environment.folder / "bin"))
        inputs = INPUT_FOLDER if backend.mounts else self._linked_inputs(Path(work))
        search = SEARCH_PATH if backend.confines else os.environ.get("PATH", SEARCH_PATH)
        base = {
            "PATH": ":".join(dict.fromkeys([*programs, *search.split(":")])),
            "HOME": work,
            "TMPDIR": work,
            **{name: value for name, value in os.environ.items() if name in LOCALE},
            # Forbidden where there are no mounts, and git gives up on what it may not read.
            **({} if backend.mounts else {"GIT_CONFIG_NOSYSTEM": "1"}),
            **({"PYTHONPATH": search_modules} if own else {}),
            "SKILL_NAME": request.skill,
            "SKILL_BASE_DIR": os.fspath(base_dir),
            "SKILL_VERSION": request.version or "",
            "SKILL_OUTPUT_DIR": os.fspath(output),
            **({"SKILL_INPUT_DIR": os.fspath(inputs)} if request.inputs else {}),
            **({"SKILL_PROJECT_DIR": os.fspath(request.project)} if request.project is not None else {}),
        }
        brokered = {} if gateway is None else gateway.environment
        environ = {
            name: _passable(value) for name, value in {**base, **request.environment, **brokered}.items()
        }
        return Confinement(
            command=(*command, *_in_folder(request.arguments, inputs)),
            # A script that imports modules of the skill's own folder is started there, as a part of it.
            folder=base_dir if "" in own else script.parent,
            environment=environ,
            limits=request.limits,
            read_only=(
                Mount(self.tree, base_dir),
                *self._node_mounts(),
                *(Mount(path, path) for path in sorted(readable)),
                *read,
            ),
            writable=(*write, *([] if backend.mounts else [Mount(output, output)])),
            output=output,
            hidden=tuple(hidden),
            network=request.network,
            gateway=gateway,
        )

    def _started_as(self, script: Path) -> tuple[str, ...]:
        parts = self.request.script.removesuffix(".py").split("/")
        if self.head.is_module and all(part.isidentifier() for part in parts):
            return "-m", ".".join(parts)
        return (os.fspath(script),)

    def _linked_inputs(self, work: Path) -> Path:
        """Make a folder with a link for each input, for backends without mounts."""
        folder = work / "input"
        if self.request.inputs:
            folder.mkdir()
            folder.chmod(0o755)
            for each in self.request.inputs:
                (folder / each.name).symlink_to(each.path)
        return folder


def _in_folder(arguments: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    """Return arguments with the paths of inputs inside the sandbox."""
    if folder == INPUT_FOLDER:
        return arguments
    return tuple(argument.replace(f"{INPUT_FOLDER}/", f"{folder}/") for argument in arguments)


def _given(each: InputFile, held: ExitStack, *, in_place: bool) -> Mount:
    """An input, opened now; as root a copy of what only its owner may read, because the script is nobody."""
    descriptor = open_real(each.path)
    held.callback(os.close, descriptor)
    found = os.fstat(descriptor)
    target = each.path if in_place else INPUT_FOLDER / each.name
    if in_place or os.geteuid() != 0 or not stat.S_ISREG(found.st_mode) or found.st_mode & stat.S_IROTH:
        return Mount(each.path, target, descriptor)
    if found.st_size > _MAX_COPIED:
        raise InputsError(f"{each.path} is larger than {_MAX_COPIED} bytes and can be read by its owner only")
    readable = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_CLOEXEC)
    held.callback(os.close, readable)
    return Mount(each.path, target, readable, copied=True)


def _granted(path: Path, held: ExitStack) -> Mount:
    descriptor = open_real(path)
    held.callback(os.close, descriptor)
    return Mount(path, path, descriptor)


def open_real(path: Path) -> int:
    """Open the file or folder at `path`; RefusedRunError if any part of it is a link.

    A script with the right to write could otherwise put a link where another one's grant points.
    """
    flags = os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK)
    descriptor = os.open("/", flags)
    try:
        for number, part in enumerate(path.parts[1:], 2):
            below = os.open(part, flags, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
            if stat.S_ISLNK(os.fstat(descriptor).st_mode):
                link = Path(*path.parts[:number])
                raise RefusedRunError(
                    f"The granted path {path} goes through the symbolic link {link}, so nothing was run; "
                    f"if that is meant, grant {real_path(path)}"
                )
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
