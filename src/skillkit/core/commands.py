"""Commands and files that other clients run or attach when they load instructions; here they are found."""

import re

COMMAND = re.compile(
    r"(?:^|(?<=\s))!`(?P<inline>[^`\n]+)`|^```![^\S\n]*\n(?P<block>.*?)^```", re.MULTILINE | re.DOTALL
)
FILE = re.compile(
    r"(?:^|(?<=\s))@(?P<path>(?:\.{1,2}/|~/|/)?(?:[\w.-]+/)*[\w-][\w.-]*"
    r"\.(?:md|txt|json|ya?ml|toml|csv|py|sh|js|ts|xml|html))(?![\w/-])",
    re.MULTILINE,
)


def commands_in(text: str) -> list[str]:
    """Return the commands that other clients would run when they load these instructions."""
    return [match["inline"] or match["block"].strip() for match in COMMAND.finditer(text)]


def files_in(text: str) -> list[str]:
    """Return the files that other clients would attach to these instructions."""
    return [match["path"] for match in FILE.finditer(text)]
