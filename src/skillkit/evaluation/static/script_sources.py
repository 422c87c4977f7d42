"""Scripts without running them: whether they compile, what they import, which options they know."""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from skillkit.evaluation.report import Problem
from skillkit.evaluation.static.markdown import Document
from skillkit.scripts.catalogue import Script
from skillkit.scripts.distributions import known_distribution
from skillkit.scripts.inline_metadata import InlineMetadataError, parse_inline_metadata

LARGEST = 2 << 20
_OPTION = re.compile(r"(?<![\w-])--[A-Za-z][\w-]*")
_REQUIREMENT_FILES = ("requirements.txt", "pyproject.toml", "setup.py", "environment.yml", "Pipfile")
_COMMON_OPTIONS = frozenset({"--help", "--version", "--json"})


def source_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.stat().st_size <= LARGEST else ""


def compile_problems(folder: Path, path: Path) -> Iterator[Problem]:
    """What a compiler says about one file; nothing is executed."""
    shown = path.relative_to(folder).as_posix()
    suffix = path.suffix.lower()
    if suffix == ".py":
        try:
            ast.parse(source_of(path), shown)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = error.lineno if isinstance(error, SyntaxError) else None
            text = error.msg if isinstance(error, SyntaxError) else str(error) or "nested too deeply"
            yield Problem(f"does not compile: {text}", shown, line)
        try:
            parse_inline_metadata(source_of(path))
        except InlineMetadataError as error:
            yield Problem(str(error), shown)
        return
    checker = _CHECKERS.get(suffix)
    program = shutil.which(checker[0]) if checker else None
    if checker is None or program is None:
        return
    try:
        done = subprocess.run(
            [program, *checker[1:], str(path)],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=20,
            check=False,
            env={"PATH": "/usr/bin:/bin"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        line = next(
            (int(number) for text in said for number in re.findall(r"(?:line |:)(\d{1,9})", text)[:1]), None
        )
        reason = next((text for text in said if "rror" in text), said[0] if said else "unknown")
        yield Problem(f"does not compile: {reason.replace(str(path), shown)[:200]}", shown, line)


_CHECKERS = {
    ".sh": ("bash", "-n"),
    ".bash": ("bash", "-n"),
    ".js": ("node", "--check"),
    ".mjs": ("node", "--check"),
    ".cjs": ("node", "--check"),
}
"""Programs that read a script and do not run it."""


def undeclared_imports(folder: Path, path: Path, prose: str) -> Iterator[Problem]:
    """Modules that a Python script imports and that neither it nor the skill's plain `prose` names."""
    source = source_of(path)
    try:
        tree = ast.parse(source)
        declared = parse_inline_metadata(source).dependencies
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    known = _declared(folder, path, declared)
    shown = path.relative_to(folder).as_posix()
    for module, line in sorted(_imports(tree).items()):
        if module in sys.stdlib_module_names or module == "__future__" or _is_local(folder, path, module):
            continue
        package = known_distribution(module) or module
        names = {plain(module), plain("opencv" if module == "cv2" else package)}  # it has many builds
        if not any(name in entry or entry in names for name in names for entry in known) and not any(
            name in prose for name in names if len(name) > 2
        ):
            yield Problem(f"imports {module}, which nothing declares", shown, line)


def foreign_imports(folder: Path, path: Path) -> list[str]:
    """Return the modules that a Python script imports from neither Python nor its own skill."""
    try:
        tree = ast.parse(source_of(path)) if path.suffix == ".py" else ast.Module([], [])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [
        module
        for module in sorted(_imports(tree))
        if module not in sys.stdlib_module_names and not _is_local(folder, path, module)
    ]


def _imports(tree: ast.Module) -> dict[str, int]:
    """Modules that are imported when the script starts, without those it can do without."""
    found: dict[str, int] = {}

    def visit(nodes: list[ast.stmt]) -> None:
        for node in nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    found.setdefault(alias.name.split(".")[0], node.lineno)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.setdefault(node.module.split(".")[0], node.lineno)
            elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.dump(node.test):
                visit(node.body)
                visit(node.orelse)
            elif isinstance(node, ast.With):
                visit(node.body)

    visit(tree.body)
    return found


def _declared(folder: Path, path: Path, dependencies: tuple[str, ...]) -> set[str]:
    names = {plain(re.split(r"[\s\[<>=!~;@(]", text, maxsplit=1)[0]) for text in dependencies}
    for base in {folder, path.parent, folder / "scripts"}:
        for name in _REQUIREMENT_FILES:
            file = base / name
            if file.is_file():
                names.update(plain(word) for word in re.findall(r"[A-Za-z][\w.-]+", source_of(file)))
    return {name for name in names if name}


def _is_local(folder: Path, path: Path, module: str) -> bool:
    return any(
        (base / f"{module}.py").is_file() or (base / module).is_dir()
        for base in (path.parent, folder, folder / "scripts", path.parent.parent)
    )


def plain(name: str) -> str:
    """Only letters and digits, as names of modules and packages are compared."""
    return re.sub(r"[^a-z0-9]+", "", name.lower())


def options_of(script: Script) -> frozenset[str] | None:
    """The options that a script has; None where it hands arguments on, or has none to compare with."""
    source = source_of(script.path)
    if not source or _passes_on(source, script.path.suffix):
        return None
    known = {*_OPTION.findall(source), *_COMMON_OPTIONS}
    known |= {f"--no-{option[2:]}" for option in known}
    return frozenset(known | {option.replace("_", "-") for option in known})


def unknown_options(
    script: Script, known: frozenset[str], document: Document, shown: str
) -> Iterator[Problem]:
    """Options that the text gives to a script and that the script does not have."""
    seen: set[str] = set()
    for number, command in _commands(document, script):
        for option in _OPTION.findall(command):
            if option in known or option in seen or option.replace("_", "-") in known:
                continue
            if any(full.startswith(option) for full in known):  # argparse takes abbreviations
                continue
            seen.add(option)
            near = get_close_matches(option, known, 1, 0.6)
            hint = f"; is it {near[0]}?" if near else ""
            yield Problem(
                f"calls {script.relative_path} with {option}, which it does not have{hint}", shown, number
            )


def _passes_on(source: str, suffix: str) -> bool:
    """Whether a script hands arguments on to others, or has no options to compare with."""
    if suffix == ".py":
        return "parse_known_args" in source or "REMAINDER" in source or not _OPTION.search(source)
    return '"$@"' in source or "${@" in source or not _OPTION.search(source)


def _commands(document: Document, script: Script) -> Iterator[tuple[int, str]]:
    """What follows the name of the script in a command, continued lines included."""
    called = re.compile(rf"(?<![\w.-]){re.escape(script.file)}(?![\w.-])|^{re.escape(script.name)}(?=\s+\S)")
    lines = [*document.lines]
    for place, line in enumerate(lines):
        if script.name not in line.text:
            continue
        text, following = line.text, place + 1
        while text.rstrip().endswith("\\") and following < len(lines) and lines[following].fenced:
            text = f"{text.rstrip()[:-1]} {lines[following].text}"
            following += 1
        spans = [text] if line.fenced else [span for _, span in Document((line,), None).code_spans()]
        for span in spans:
            if found := called.search(span.strip()):
                after = span.strip()[found.end() :]
                yield line.number, re.split(r"\s(?:\||&&|;|#)\s|\s\|\|\s", after)[0]
