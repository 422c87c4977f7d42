"""Package of a module on the index: by the dated table beside this file, or by the skill's own texts."""

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files

from skillkit.core.foreign_json import parse_json

_DATA = parse_json(files("skillkit.scripts").joinpath("distributions.json").read_text("utf-8"))
_API_VERSION = re.compile(r"_v\d\w*$")
"""Google ships each version of an API as a module of its own, in one package."""
_INSTALLS = re.compile(r"(?:pip3?|uv pip|uv|pipx|poetry)[ \t]+(?:install|add)[ \t]+([^\n`|;&#\"'(){}<]*)")
_REQUIREMENT = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[A-Za-z0-9,._-]*\])?(?:(?:[=<>!~]=|[<>])[A-Za-z0-9.*,=<>!~]+)?"
)
_FLAG_WITH_VALUE = frozenset({"-r", "-c", "-e", "-i", "--index-url", "--extra-index-url", "--target", "-t"})


def distributions_of(module: str) -> tuple[str, ...]:
    """Return the packages that are known to have `module`, a dotted name; the first is proposed."""
    parts = module.split(".")
    names = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    if module.startswith("google.cloud."):
        names = [_API_VERSION.sub("", name) for name in names]
    for name in names:
        if (renamed := _DATA["renamed"].get(name)) is not None:
            return tuple(renamed)
        if (length := _DATA["namespaces"].get(name)) is not None:
            whole = next((each for each in names if each.count(".") == length - 1), None)
            return () if whole is None else (whole.replace(".", "-").replace("_", "-"),)
    return (parts[0].replace("_", "-"),) if parts[0] in _DATA["same_name"] else ()


def same_named(module: str) -> str | None:
    """Return the package named like an unknown module, if it is worth proposing."""
    top = module.partition(".")[0]
    no_name = top in _DATA["namespaces"] or top in _DATA["kept_private"]
    return None if no_name else top.replace("_", "-")


def stated_requirements(contents: Mapping[str, bytes]) -> dict[str, tuple[str, str]]:
    """Requirements that a skill's own texts name, by normalised name: as written, and in which file."""
    stated: dict[str, tuple[str, str]] = {}
    for path in sorted(contents, key=_weight):
        if not path.lower().endswith((".md", ".txt", ".toml", ".py")):
            continue
        text = contents[path][: 1 << 20].decode("utf-8", "replace")
        for requirement in _in_file(path, text):
            stated.setdefault(normalised(requirement), (requirement, path))
    return stated


def find_stated(module: str, stated: Mapping[str, tuple[str, str]]) -> tuple[str, str] | None:
    """Return the stated requirement that has `module`, and where it is stated."""
    return next((stated[name] for name in candidates(module) if name in stated), None)


def candidates(module: str) -> list[str]:
    """Return the normalised names of packages that may have `module`."""
    top = module.partition(".")[0]
    dotted = module.split(".")
    names = list(distributions_of(module))
    if top in _DATA["namespaces"]:
        names += ["-".join(dotted[:length]) for length in range(len(dotted), 1, -1)]
    else:
        names.append(top)
    return [normalised(name) for name in names]


def normalised(requirement: str) -> str:
    """Return the name of a requirement as indexes compare it."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    return re.sub(r"[-_.]+", "-", name[0]).lower() if name else ""


def _weight(path: str) -> tuple[int, int, str]:
    name = path.rpartition("/")[2].lower()
    order = 0 if name.startswith("requirements") else 1 if name == "pyproject.toml" else 2
    order += name.endswith(".py")
    return order, path.count("/"), path


def _in_file(path: str, text: str) -> Iterator[str]:
    name = path.rpartition("/")[2].lower()
    if name.startswith("requirements") and name.endswith(".txt"):
        for line in text.splitlines():
            if (found := _REQUIREMENT.fullmatch(line.partition("#")[0].replace(" ", ""))) is not None:
                yield found[0]
    elif name == "pyproject.toml":
        yield from _in_project(text)
    elif name.endswith((".md", ".py")):
        for command in _INSTALLS.finditer(text):
            yield from _in_command(command[1])


def _in_project(text: str) -> Iterator[str]:
    if len(text) > 1 << 16 or any(len(line) > 2000 for line in text.splitlines()):
        return
    try:
        import tomllib

        project = tomllib.loads(text).get("project", {})
    except (ValueError, RecursionError):
        return
    listed = project.get("dependencies", []) if isinstance(project, dict) else []
    for item in listed if isinstance(listed, list) else []:
        if isinstance(item, str) and (found := _REQUIREMENT.fullmatch(item.replace(" ", ""))) is not None:
            yield found[0]


def _in_command(words: str) -> Iterator[str]:
    skip = False
    for word in words.split():
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = word in _FLAG_WITH_VALUE
        elif (found := _REQUIREMENT.fullmatch(word.rstrip(".,"))) is not None:
            yield found[0]
        else:
            return
