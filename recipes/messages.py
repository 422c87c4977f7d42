"""Every message of the program, by module and by what it is given to, to be read aloud before a release.

`python3 dev.py messages [PACKAGE …]` prints errors (`raise`), diagnostics, log lines, questions and output:
each text of two or more words that is an argument of a call, or is returned. What is put in stands in braces.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src" / "skillkit"


def main(packages: list[str]) -> None:
    for folder in [SOURCES / name for name in packages] or [SOURCES]:
        for path in sorted(folder.rglob("*.py")):
            if found := sorted(set(messages(ast.parse(path.read_text())))):
                print(f"\n{path.relative_to(SOURCES)}")
                for line, receiver, text in found:
                    print(f"  {line:4} {receiver}: {text}")


def messages(node: ast.AST, receiver: str = "") -> Iterator[tuple[int, str, str]]:
    """Yield line, receiver and text of the messages in `node`; docstrings, without receiver, are left out."""
    match node:
        case ast.Raise(exc=ast.Call(func=function)):
            receiver = f"raise {ast.unparse(function)}"
        case ast.Call(func=function) if not receiver.startswith("raise"):
            receiver = ast.unparse(function).rpartition(".")[2]
        case ast.Return() | ast.Assign() | ast.AnnAssign() | ast.Yield():
            receiver = type(node).__name__.lower()
    if isinstance(node, ast.JoinedStr | ast.Constant):
        text = written(node)
        if receiver and len(text.split()) > 1 and any(letter.isalpha() for letter in text):
            yield node.lineno, receiver, text
        return
    for child in ast.iter_child_nodes(node):
        yield from messages(child, receiver)


def written(node: ast.AST) -> str:
    """Return a literal on one line, with `{…}` where an f-string puts something in."""
    match node:
        case ast.Constant(value=str(text)):
            return " ".join(text.split())
        case ast.JoinedStr(values=parts):
            return " ".join("".join(literal(part) for part in parts).split())
    return ""


def literal(part: ast.expr) -> str:
    return str(part.value) if isinstance(part, ast.Constant) else f"{{{ast.unparse(part)[1:-1].strip('{}')}}}"


if __name__ == "__main__":
    main(sys.argv[1:])
