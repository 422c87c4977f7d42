"""Draw the pictures of the documentation.

python3 dev.py pictures [NAME…]      all of them, or those named
python3 dev.py pictures --record     first let the embedded model answer anew
python3 dev.py pictures --chat       first record the chat anew, in tmux
python3 dev.py pictures --from=FOLDER …     also the inspector, over checkouts of three public repositories
python3 dev.py pictures --everything=FOLDER each page of the inspector, desktop and phone, light and dark
"""

import sys
from pathlib import Path

from recipes.pictures import FOLDER, PICTURES, chat, inspector, sessions
from recipes.pictures.comparison import differences


def main(arguments: list[str]) -> int:
    if "--record" in arguments:
        sessions.record_answer()
    if "--chat" in arguments:
        chat.record_chat()
    there_are = [*PICTURES, *inspector.PAGES]
    names = [name for name in arguments if not name.startswith("--")] or there_are
    unknown = sorted(set(names) - set(there_are))
    if unknown:
        print(f"No picture is called {', '.join(unknown)}. There are: {', '.join(there_are)}")
        return 2
    given = [argument.partition("=") for argument in arguments if "=" in argument]
    repositories = [Path(value).resolve() for option, _, value in given if option == "--from"]
    if everything := [Path(value).resolve() for option, _, value in given if option == "--everything"]:
        everything[0].mkdir(parents=True, exist_ok=True)
        inspector.draw(everything[0], [*inspector.PAGES, *inspector.OTHERS], repositories, everything=True)
        return 0
    if pages := [name for name in names if name in inspector.PAGES]:
        inspector.draw(FOLDER, pages, repositories)
    for name in (name for name in names if name in PICTURES):
        print(f"{'drew' if draw(name) else 'kept'} docs/pictures/{name}.svg")
    return 0


def draw(name: str) -> bool:
    """Write a picture, unless it shows a terminal and says what it said on another machine."""
    file, now = FOLDER / f"{name}.svg", PICTURES[name]()
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    run_here = isinstance(sessions.SESSIONS.get(name), sessions.Session)
    if run_here and before and not differences(before, now):
        return False
    file.write_text(now, encoding="utf-8")
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
