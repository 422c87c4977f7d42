"""What a script's own text, and the skill's, say of its use: the help of a script that prints none."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import islice

from skillkit.core.text import strip_hidden
from skillkit.scripts.positional_usage import find_positional_usage
from skillkit.scripts.python_usage import PythonUsage, read_python
from skillkit.scripts.usage_words import UNMISTAKABLE, WORDS

MAX_TEXT = 256 << 10
_MAX_HELP = 8000
_MAX_LINES = 60
_MAX_BLOCKS = 50
_MAX_COMMANDS = 8
_MAX_LINE = 400
_KNOWS_HELP = re.compile(
    r"--help|['\"]-h['\"]|\bh\)|argparse|optparse|\bclick\b|typer|docopt|\bfire\b|absl|OptionParser|tyro|"
    r"cyclopts|jsonargparse|unittest|pytest|commander|yargs|parseArgs|\bcac\b|\bmeow\b|getopts|(?:\b|\\[nt])usage\b|"
    rf"print\w*\(\s*(?:sys\.stderr,\s*)?__doc__|{UNMISTAKABLE}",
    re.IGNORECASE,
)
"""Words of libraries that answer it, and of texts, in which a line begins right after a written `\\n`."""
_COUNTS_ARGUMENTS = re.compile(
    r"len\(\s*(?:sys\.)?argv|\$#|\[\s*-z\s+[\"']?\$\{?1|\$\{1:?\?|argv\.length|argv\.slice\(2\)|ARGV\.(?:empty|length|size)|"
    r"@ARGV"
)
_TELLING = re.compile(
    r"\b(?:echo|e?print|printf|puts|die|fail|warn|exit|cat|write|say)|error|\blog|\?", re.IGNORECASE
)
"""What stands in a line of code that tells something."""
_HANDS_ON = re.compile(
    r"^[ \t]*(?!for\b|while\b|if\b|case\b)[^#\n]*[\w\"'}][ \t]+[\"']?\$\{?[@*]", re.MULTILINE
)
"""A command of a shell script that gets all of its arguments, `--help` among them."""
_IMPORTED = re.compile(
    r"^[ \t]*(?:from|import)[ \t]+\.*(\w+)|^[ \t]*(?:source|\.)[ \t]+\S*?([\w-]+)\.(?:sh|bash)\b|"
    r"(?:from|require\(|import\()[ \t]*['\"]\.[./\w-]{0,200}?([\w-]+)(?:\.\w+)?['\"]",
    re.MULTILINE,
)
_LICENCE = re.compile(
    r"copyright|spdx-|licen[sc]ed? under|apache license|warrant(?:y|ies)|all rights reserved|redistribut|"
    r"www\.apache\.org|proprietary",
    re.IGNORECASE,
)
_SHELL_USAGE = re.compile(
    r"""^[ \t]*(?:echo|printf|log|die|err|error|fail)\b[^\n"']*["']([^\n]*)["']""", re.MULTILINE
)
_HERE_DOCUMENT = re.compile(r"<<-?[ \t]*[\"']?(\w+)[\"']?[^\n]*\n")
_CASE = re.compile(
    r"^[ \t]*((?:-{1,2}[A-Za-z][\w-]*[ \t]*\|[ \t]*)*-{1,2}[A-Za-z][\w-]*)(?:=\*)?\)", re.MULTILINE
)
_SHELL_NEEDS = re.compile(r"\$\{(\w+):?\?([^}\n]{0,200})\}")
_TEMPLATE = re.compile(
    r"`((?:[^`\\]|\\.){1,6000})`|\"((?:[^\"\\\n]|\\.){1,600})\"|'((?:[^'\\\n]|\\.){1,600})'"
)
_OPTION = re.compile(
    r"\.(?:option|requiredOption|argument|command|on)\(\s*['\"`]([^'\"`\n]{1,100})['\"`]"
    r"(?:\s*,\s*['\"`]([^'\"`\n]{1,300})['\"`])?"
)
_OPTION_NAME = re.compile(r"""['"`](--[a-z][a-z0-9-]{1,40})=?['"`]""")
_NODE_VARIABLE = re.compile(r"process\.env\.([A-Z][A-Z0-9_]+)")
_STARTERS = "python3?|bash|sh|node|bun|tsx|ruby|perl|run"
_USAGE_WORD = re.compile(
    rf"^[ \t]*usage\b|\busage[ \t]*:|^[ \t]*(?:{WORDS})[ \t]*[:：]", re.IGNORECASE | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class WrittenHelp:
    """What can be told of a script without running it."""

    text: str
    """Empty where nothing was found that helps."""
    usage: str
    knows_help: bool
    """Whether it looks as if the script itself answered `--help`."""
    tells_usage: bool
    """Whether it may tell its usage without arguments: it counts them, or speaks of usage in its code."""
    source: str = field(default="", repr=False)
    """The text of the script itself."""


def find_written_help(
    file: str, content: bytes, instructions: str = "", modules: Collection[str] = ()
) -> WrittenHelp:
    """Return what a script says of itself, and the commands in the skill's `instructions` that start it.

    `modules` are names of the skill's own: what a script imports of them may be what reads its arguments.
    """
    content = content[:MAX_TEXT]
    source = content.decode("utf-8", "replace")
    name = file.rpartition("/")[2]
    first = source.partition("\n")[0]
    if name.endswith(".py") or (first.startswith("#!") and "python" in first):
        parts, usage = _of_python(name, content, source)
    elif name.endswith((".js", ".mjs", ".cjs", ".ts")):
        parts, usage = _of_javascript(source)
    else:
        parts, usage = _of_shell(source)
    commands = list(_commands(name, instructions))
    if not usage and not commands:
        usage = find_positional_usage(name, source, named_only=any(part.strip() for part in parts))
        parts.insert(0, usage)
    if commands:
        usage = usage or commands[0]
        parts.append("Shown in SKILL.md:\n" + "\n".join(f"  {line}" for line in commands))
    text = strip_hidden("\n\n".join(part.strip("\n") for part in parts if part.strip()))
    imported = {name for found in _IMPORTED.finditer(source) for name in found.groups()}
    return WrittenHelp(
        text=text[:_MAX_HELP],
        usage=strip_hidden(usage.strip())[:_MAX_LINE],
        knows_help=any(each.search(source) for each in (_KNOWS_HELP, _HANDS_ON))
        or not imported.isdisjoint(modules),
        tells_usage=_COUNTS_ARGUMENTS.search(source) is not None or _tells_usage(source),
        source=source,
    )


def _of_python(name: str, content: bytes, source: str) -> tuple[list[str], str]:
    read = read_python(content)
    if read is None:
        return [_leading_comment(source, "#")], ""
    parts = [read.documentation or _leading_comment(source, "#")]
    if read.usage and read.usage not in parts[0]:
        parts.append(read.usage)
    usage = _usage_line(read.usage)
    if read.arguments:
        made = "" if usage else _made_usage(read.program or name, read)
        parts, usage = [made, *parts, *_argument_parts(read)], usage or made
    facts = [f"It reads the variables {', '.join(read.variables[:20])}."] if read.variables else []
    facts += ["It reads standard input, which is empty in a run."] if read.reads_input else []
    if any(parts) and facts:
        parts.append("\n".join(facts))
    return parts, usage or _usage_line(read.documentation)


def _made_usage(program: str, read: PythonUsage) -> str:
    words = ["usage:", program]
    for line in read.arguments.get("", []):
        names, _, about = line.partition("  ")
        name = names.rpartition(", ")[2]
        if name.startswith("-"):
            words.append(name if about.endswith("required") else f"[{name}]")
        elif " " not in name:
            words.append(name)
    commands = "|".join(each for each in read.arguments if each)
    return " ".join([*words, f"{{{commands}}}"] if commands else words)


def _argument_parts(read: PythonUsage) -> Iterator[str]:
    for command, lines in read.arguments.items():
        if lines or command:
            title = f"Command {command}:" if command else "Arguments:"
            yield "\n".join((title, *(f"  {line}" for line in lines)))


def _of_shell(source: str) -> tuple[list[str], str]:
    parts = [_leading_comment(source, "#")]
    told = next((text for text in _here_documents(source) if _USAGE_WORD.search(text)), "")
    if not told:
        lines = [found[1] for found in _SHELL_USAGE.finditer(source)]
        start = next((number for number, line in enumerate(lines) if _USAGE_WORD.search(line)), None)
        told = "" if start is None else lines[start]
    if told and told.strip() not in parts[0]:
        parts.append(told)
    elif options := list(dict.fromkeys(found[1] for found in _CASE.finditer(source))):
        parts.append("Options:\n" + "\n".join(f"  {each}" for each in options[:_MAX_LINES]))
    if needs := list(
        dict.fromkeys(f"{found[1]}  {found[2]}".rstrip() for found in _SHELL_NEEDS.finditer(source))
    ):
        parts.append("It needs:\n" + "\n".join(f"  {each}" for each in needs[:20]))
    return parts, _usage_line(told) or _usage_line(parts[0])


def _of_javascript(source: str) -> tuple[list[str], str]:
    parts = [_leading_comment(source, "//") or _leading_block(source)]
    texts = (found[1] or found[2] or found[3] for found in _TEMPLATE.finditer(source))
    told = next((text for text in texts if re.search(r"\busage\b\s*:", text, re.IGNORECASE)), "")
    told = told.replace("\\n", "\n")
    if told and told.strip() not in parts[0]:
        parts.append(told)
    elif options := [f"{found[1]}  {found[2] or ''}".rstrip() for found in _OPTION.finditer(source)] or list(
        dict.fromkeys(_OPTION_NAME.findall(source))
    ):
        parts.append("Options:\n" + "\n".join(f"  {each}" for each in options[:_MAX_LINES]))
    if any(parts) and (variables := list(dict.fromkeys(_NODE_VARIABLE.findall(source)))):
        parts.append(f"It reads the variables {', '.join(variables[:20])}.")
    return parts, _usage_line(told) or _usage_line(parts[0])


def _leading_comment(source: str, mark: str) -> str:
    """The comments before the first line of code, paragraph by paragraph, without licences."""
    paragraphs: list[list[str]] = [[]]
    for line in source.splitlines()[: 4 * _MAX_LINES]:
        bare = line.strip()
        if bare.startswith("#!") or bare == "# /// script":
            continue
        if bare.startswith(mark):
            text = bare[len(mark) :].lstrip(mark[0])
            text = text.removeprefix(" ").rstrip()
            paragraphs.append([]) if not text.strip("-=# ") else paragraphs[-1].append(text)
        elif not bare:
            paragraphs.append([])
        else:
            break
    kept = ["\n".join(lines) for lines in paragraphs if lines and not _LICENCE.search(" ".join(lines))]
    return "\n\n".join(kept)


def _leading_block(source: str) -> str:
    """The first `/* … */` that is no licence."""
    for block in source[: 64 << 10].split("/*", _MAX_BLOCKS)[1:]:
        lines = [line.strip().lstrip("*").strip() for line in block.partition("*/")[0].splitlines()]
        text = "\n".join(lines).strip()
        if text and not _LICENCE.search(text):
            return text
    return ""


def _here_documents(source: str) -> Iterator[str]:
    for found in islice(_HERE_DOCUMENT.finditer(source), _MAX_BLOCKS):
        end = re.compile(rf"^\s*{re.escape(found[1])}\s*$", re.MULTILINE).search(source, found.end())
        if end is not None:
            yield source[found.end() : end.start()]


def _commands(name: str, instructions: str) -> Iterator[str]:
    """Lines of code in the instructions that start the script."""
    found: dict[str, None] = {}
    stem = re.escape(name.rpartition(".")[0] or name)
    named = re.compile(
        rf"(?<![\w.-]){re.escape(name)}(?![\w.-])|"
        rf"(?:(?:{_STARTERS})[ \t]+(?:-m[ \t]+)?|^|\./)(?:[\w-]+[/.])+{stem}(?![\w./-])"
    )
    inside = False
    for line in instructions.replace("\\\n", " ").splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            inside = not inside
        elif len(line) <= _MAX_LINE and named.search(line):
            codes = [" ".join(line.split())] if inside else re.findall(r"`([^`\n]+)`", line)
            found.update({code: None for code in codes if " " in code and named.search(code)})
    yield from list(found)[:_MAX_COMMANDS]


def _usage_line(text: str) -> str:
    """The line that says usage, with the next one where it says nothing else."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if _USAGE_WORD.search(line):
            rest = line.replace("：", ":").partition(":")[2].strip()
            below = next((each.strip() for each in lines[number + 1 :] if each.strip()), "")
            return line.strip() if rest or not below else f"{line.strip()} {below}"
    return ""


def _tells_usage(source: str) -> bool:
    """Whether a line of code says how the script is used, or calls what does."""
    for line in source.splitlines():
        if len(line) > _MAX_LINE or "usage" not in line.lower() or line.lstrip().startswith(("#", "//", "*")):
            continue
        before, _, after = line.lower().partition("usage")
        if (
            _TELLING.search(before)
            or after.lstrip(" _").startswith(("(", ";;"))
            or not (before + after).strip()
        ):
            return True
    return False
