"""Draw the pictures of the documentation.

python3 dev.py pictures [NAME…]      all of them, or those named
python3 dev.py pictures --record     first let the embedded model answer anew
"""

import sys

from recipes.pictures import FOLDER, PICTURES, sessions


def main(arguments: list[str]) -> int:
    if "--record" in arguments:
        sessions.record_answer()
    names = [name for name in arguments if name != "--record"] or list(PICTURES)
    unknown = sorted(set(names) - set(PICTURES))
    if unknown:
        print(f"No picture is called {', '.join(unknown)}. There are: {', '.join(PICTURES)}")
        return 2
    for name in names:
        (FOLDER / f"{name}.svg").write_text(PICTURES[name](), encoding="utf-8")
        print(f"docs/pictures/{name}.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
