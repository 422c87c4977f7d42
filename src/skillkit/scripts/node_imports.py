"""Which packages a skill's Node.js scripts import: there the name of a module is the name of its package."""

import posixpath
import re
from collections.abc import Iterator, Mapping

_MAX_FOLLOWED = 500
_IMPORT = re.compile(
    r"""(?:^|[;}\s])(?:import|export)\s[^'";]{0,2000}?from\s*["']([^"'\n]{1,300})["']"""
    r"""|(?:^|[;}\s])import\s*["']([^"'\n]{1,300})["']"""
    r"""|\b(?:require|import)\(\s*["']([^"'\n]{1,300})["']\s*\)"""
)
_COMMENT = re.compile(r"(?:^\s*(?:\*|/\*)|(?:^|[\s;])//).*$", re.MULTILINE)
_PACKAGE = re.compile(r"(?:@[A-Za-z0-9~-][A-Za-z0-9._~-]*/)?[A-Za-z0-9~-][A-Za-z0-9._~-]*(?=/|$)")
_SUFFIXES = ("", ".js", ".mjs", ".cjs", ".ts", "/index.js", "/index.ts")
_BUILTIN = frozenset(
    "assert async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns "
    "domain events fs http http2 https inspector module net os path perf_hooks process punycode querystring "
    "readline repl stream string_decoder sys timers tls trace_events tty url util v8 vm wasi worker_threads "
    "zlib".split()
)


def imported_packages(script: str, files: Mapping[str, bytes]) -> set[str]:
    """Return the packages of others that a script and the files of the skill that it imports name."""
    found: set[str] = set()
    waiting, seen = [script], {script}
    while waiting and len(seen) < _MAX_FOLLOWED:
        path = waiting.pop()
        for name in _imports(files.get(path, b"")):
            if name.startswith("."):
                own = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
                follow = next((own + suffix for suffix in _SUFFIXES if own + suffix in files), None)
                if follow is not None and follow not in seen:
                    seen.add(follow)
                    waiting.append(follow)
            elif (package := _PACKAGE.match(name)) is not None and package[0] not in _BUILTIN:
                found.add(package[0])
    return found


def _imports(content: bytes) -> Iterator[str]:
    text = _COMMENT.sub("", content[: 1 << 20].decode("utf-8", "replace"))
    for match in _IMPORT.finditer(text):
        yield next(group for group in match.groups() if group is not None)
