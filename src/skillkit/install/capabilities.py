"""The capability card: contents and requests of a skill as facts, and how they changed."""

import posixpath
import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, field, fields

from skillkit.core.models import SkillMetadata
from skillkit.core.text import hidden_in
from skillkit.install.automatic import automatic_code, declared_run, missing_files, missing_skills
from skillkit.install.signatures import SIGNATURE_FILE, describe_signers
from skillkit.install.tree import SKILL_FILE, SkillTree, TreeFile
from skillkit.scripts.inline_metadata import InlineMetadataError, parse_inline_metadata
from skillkit.scripts.interpreters import language_of, named_program
from skillkit.scripts.needed_packages import needed_packages
from skillkit.scripts.node_packages import node_projects

_NEVER_RUN = {".ps1": "powershell", ".bat": "cmd", ".php": "php", ".lua": "lua"}
"""Interpreters of what only other clients run."""
_HOST = re.compile(rb"\b(?:https?|wss?|ssh|ftp)://(?:[^\s/@\"'<>]{1,64}@)?([A-Za-z0-9][A-Za-z0-9.-]{1,252})")
_BINARY_MAGIC = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\0asm")
_LFS = b"version https://git-lfs.github.com/spec/"
_DEPENDENCY_FILES = frozenset(
    {"requirements.txt", "pyproject.toml", "package.json", "Gemfile", "go.mod", "Cargo.toml"}
)
_MENDED = frozenset({"unquoted-value", "missing-name", "name-separator", "grant-dropped", "duplicate-field"})
"""Diagnostic codes of header values that were repaired."""
_MAX_SCANNED = 4 * 1024 * 1024


def _fact(label: str, meaning: str = "") -> tuple[str, ...]:
    """Declare a field of the card with its label and explanation."""
    values: tuple[str, ...] = field(default=(), metadata={"label": label, "meaning": meaning})
    return values


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Facts found in the files; each a sorted tuple, so that two cards can be compared."""

    signed: tuple[str, ...] = _fact(
        "signed by", "a name that anybody can choose; a policy trusts a certificate by its digest"
    )
    """Certificates behind a signature that holds, or why it does not."""
    scripts: tuple[str, ...] = _fact("scripts")
    """`path (interpreter)` of everything that could be run."""
    dependencies: tuple[str, ...] = _fact("dependencies")
    """Packages that scripts declare, and files that list packages."""
    undeclared: tuple[str, ...] = _fact(
        "undeclared", "imported by scripts and not declared; installed only when you accept them"
    )
    """Modules that scripts import without declaring a package, and the package that most likely has each."""
    hosts: tuple[str, ...] = _fact("hosts named")
    """Hosts named anywhere in the text."""
    network: tuple[str, ...] = _fact(
        "network", "wants to reach these hosts; 'everything' is whatever this machine can reach"
    )
    """Hosts asked for, or `everything`; `$NAME` is the host of the address in that variable."""
    environment: tuple[str, ...] = _fact(
        "environment", "environment variables it asks for; their values are passed to its scripts"
    )
    """Environment variables asked for."""
    secrets: tuple[str, ...] = _fact(
        "secrets", "added to requests to these hosts by a proxy; scripts never see them"
    )
    """Keys it uses without seeing them."""
    commands: tuple[str, ...] = _fact("commands", "must be installed on this machine")
    """Programs that must be on the machine."""
    toolsets: tuple[str, ...] = _fact("toolsets", "would run inside the agent's own process!")
    """Python classes that would run inside the agent's own process."""
    allowed_tools: tuple[str, ...] = _fact(
        "tools", "the author wants them pre-approved; that is never granted"
    )
    """Tools the author wants approved beforehand; shown, never granted."""
    nested_skills: tuple[str, ...] = _fact("nested skills")
    binaries: tuple[str, ...] = _fact("binary files")
    """Compiled programs and other files that are not text."""
    hidden_characters: tuple[str, ...] = _fact("invisible", "control or zero-width characters")
    """Text files with invisible characters."""
    not_fetched: tuple[str, ...] = _fact("not fetched", "Git LFS pointers; their content stays where it is")
    """Pointers to Git LFS content, which is left where it is."""
    header: tuple[str, ...] = _fact("header")
    """Problems of the header."""
    automatic: tuple[str, ...] = _fact(
        "runs by itself", "other clients and tools run these without asking; skillkit does not"
    )
    """Code that a client or tool runs without asking."""
    declared: tuple[str, ...] = _fact(
        "to be run", "requested by the author; model and effort apply where the program supports them"
    )
    """Execution fields of the header, marking those ignored here."""
    missing: tuple[str, ...] = _fact("missing files", "named in the instructions, but missing")
    """Files that the instructions name and that are not there."""
    missing_skills: tuple[str, ...] = _fact(
        "missing skills", "it needs or names them, and they are not installed"
    )
    """Skills that it needs or names and that are not there."""

    def facts(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield label and values of every fact that is present."""
        for item in fields(self):
            values: tuple[str, ...] = getattr(self, item.name)
            if values:
                yield item.metadata["label"], values

    def difference(self, newer: "Capabilities") -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
        """Yield label, gained and lost values of the facts that differ in `newer`."""
        changed = []
        for item in fields(self):
            before, after = set(getattr(self, item.name)), set(getattr(newer, item.name))
            if before != after:
                label = item.metadata["label"]
                changed.append((label, tuple(sorted(after - before)), tuple(sorted(before - after))))
        return changed


MEANINGS = {item.metadata["label"]: item.metadata["meaning"] for item in fields(Capabilities)}
"""Explanation of each label; empty where the label is enough."""


def capabilities(
    tree: SkillTree, metadata: SkillMetadata, known: Container[str] | None = None
) -> Capabilities:
    """Return the card of a skill; skills that it names are missing unless they are among `known`."""
    found: dict[str, set[str]] = {item.name: set() for item in fields(Capabilities)}
    toolsets = _toolset_files(metadata)
    for path, file in tree.files.items():
        name = path.rpartition("/")[2]
        if name == SKILL_FILE and path != SKILL_FILE:
            found["nested_skills"].add(path)
        if name in _DEPENDENCY_FILES:
            found["dependencies"].add(path)
        if file.content.startswith(_LFS):
            found["not_fetched"].add(path)
        if path not in toolsets and (interpreter := _interpreter(path, file)) is not None:
            found["scripts"].add(f"{path} ({interpreter})")
            found["dependencies"].update(inline_dependencies(file.content))
        _look_inside(path, file.content, found)
    needed = needed_packages(tree.contents, tree.files.keys() - toolsets)
    # Toolsets run in a process that has skillkit.
    in_toolsets = needed_packages(tree.contents, tree.files.keys() & toolsets)
    needed += [each for each in in_toolsets if each.module.partition(".")[0] != "skillkit"]
    found["undeclared"] |= {f"{each.module} ({each.requirement or '?'})" for each in needed}
    for project in node_projects(tree.contents, tree.files):
        found["undeclared"] |= {f"{name} (npm)" for name in project.undeclared}
        found["dependencies"] |= {f"{name} (npm)" for name in project.requirements}
    if (signature := tree.files.get(SIGNATURE_FILE)) is not None:
        found["signed"] |= set(describe_signers(tree.digest.files, signature.content))
    found["network"] |= {"everything"} if metadata.permissions.network else set()
    found["network"] |= set(metadata.permissions.hosts)
    found["environment"] |= set(metadata.permissions.env)
    found["secrets"] |= set(map(str, metadata.permissions.secrets))
    found["commands"] |= set(metadata.required_commands)
    found["toolsets"] |= set(metadata.toolsets)
    found["allowed_tools"] |= set(metadata.allowed_tools)
    found["automatic"] |= set(automatic_code(tree, metadata))
    found["declared"] |= set(declared_run(metadata))
    found["missing"] |= set(missing_files(tree))
    if known is not None:
        found["missing_skills"] |= set(missing_skills(tree, metadata, known))
    found["header"] |= {note.message for note in metadata.diagnostics if note.code in _MENDED}
    if metadata.recovered:
        found["header"].add("broken or missing, guessed")
    return Capabilities(**{name: tuple(sorted(values)) for name, values in found.items()})


def _toolset_files(metadata: SkillMetadata) -> set[str]:
    """Return the files that may hold the declared toolsets: modules and their packages."""
    files: set[str] = set()
    for definition in metadata.toolsets:
        module = definition.strip().partition(":")[0].removeprefix("./").removesuffix(".py")
        parts = module.replace("/", ".").split(".")
        files.add(f"{'/'.join(parts)}.py")
        files |= {f"{'/'.join(parts[:end])}/__init__.py" for end in range(1, len(parts) + 1)}
    return files


def _interpreter(path: str, file: TreeFile) -> str | None:
    if words := named_program(file.content):
        return posixpath.basename(words[0])
    if file.content.startswith(_BINARY_MAGIC):
        return "native program"
    other = _NEVER_RUN.get(posixpath.splitext(path)[1].lower())
    return language_of(path, file.content) or other or ("executable" if file.executable else None)


def _look_inside(path: str, content: bytes, found: dict[str, set[str]]) -> None:
    start = content[:_MAX_SCANNED]
    found["hosts"].update(host.decode("ascii").lower().rstrip(".") for host in set(_HOST.findall(start)))
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        found["binaries"].add(path)
        return
    if "\0" in text:
        found["binaries"].add(path)
        return
    hidden = sum(1 for _ in hidden_in(text.replace("\r\n", "\n").removeprefix("\ufeff")))
    if hidden:
        found["hidden_characters"].add(f"{path} ({hidden})")


def inline_dependencies(content: bytes) -> list[str]:
    """Return the dependencies in a PEP 723 block, or why they cannot be read."""
    try:
        return [*parse_inline_metadata(content[:_MAX_SCANNED].decode("utf-8", "replace")).dependencies]
    except InlineMetadataError as error:
        return [f"cannot be read: {error}"]
