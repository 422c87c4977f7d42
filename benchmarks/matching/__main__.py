"""`python3 dev.py bench matching [WHAT] [--data FOLDER]`; quality and cost by default."""

import argparse
import json
from pathlib import Path

from benchmarks.matching import assemble, cost, data, quality
from skillkit.matching import Mode

SHORT_SIZES = (3, 10, 30, 100)


def main() -> None:
    parser = argparse.ArgumentParser(prog="dev.py bench matching", description=__doc__)
    parser.add_argument("what", nargs="?", choices=("quality", "cost", "assemble"))
    parser.add_argument("--data", help="folder of libraries (or SKILLKIT_MATCHING_DATA)")
    parser.add_argument("--libraries", help="measure the assembled libraries of this folder instead")
    parser.add_argument("--repositories", help="assemble: folder of git directories, OWNER+NAME/repo")
    parser.add_argument("--mode", default="lexical")
    parser.add_argument("--short", action="store_true", help="up to 100 skills")
    parser.add_argument("--record", metavar="NAME", help="keep the numbers as benchmarks/results/NAME.json")
    arguments = parser.parse_args()
    if arguments.what == "assemble":
        assemble.assemble(Path(arguments.repositories), Path(arguments.data))
        return
    folder = data.folder(arguments.data)
    corpus = data.corpus(folder)
    libraries = data.libraries(Path(arguments.libraries) if arguments.libraries else folder)
    if arguments.what in (None, "quality"):
        commits = Path(arguments.libraries or folder, "commits.json")
        quality.tables(
            libraries,
            data.unneeded(folder),
            corpus,
            mode=Mode.parse(arguments.mode, "--mode"),
            sizes=SHORT_SIZES if arguments.short else quality.SIZES,
            name=arguments.record,
            commits=json.loads(commits.read_text(encoding="utf-8")) if commits.exists() else {},
        )
    if arguments.what in (None, "cost"):
        cost.table(libraries, corpus, SHORT_SIZES if arguments.short else cost.SIZES, arguments.record)


if __name__ == "__main__":
    main()
