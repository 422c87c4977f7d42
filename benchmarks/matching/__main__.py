"""`python3 dev.py bench matching [WHAT] [--data FOLDER]`; quality, scale and latency by default."""

import argparse
from pathlib import Path

from benchmarks.matching import assemble, baselines, data, latency, quality, scale, tune, unseen

SHORT_SIZES = (10, 100, 1_000)


def main() -> None:
    parser = argparse.ArgumentParser(prog="dev.py bench matching", description=__doc__)
    choices = ("quality", "scale", "latency", "baselines", "tune", "lines", "assemble", "unseen")
    parser.add_argument("what", nargs="?", choices=choices)
    parser.add_argument("--data", help="folder of libraries (or SKILLKIT_MATCHING_DATA)")
    parser.add_argument("--write", action="store_true", help="let tune or lines rewrite calibration.py")
    parser.add_argument("--record", action="store_true", help="keep the numbers of baselines or scale")
    parser.add_argument("--short", action="store_true", help="up to 1,000 skills")
    parser.add_argument("--repositories", help="assemble: folder of git directories, OWNER+NAME/repo")
    parser.add_argument(
        "--libraries", help="folder of assembled libraries that unseen measures or lines learns from"
    )
    parser.add_argument(
        "--without-embeddings", action="store_true", help="lines: keep those of modes with embeddings"
    )
    arguments = parser.parse_args()
    if arguments.what == "assemble":
        assemble.assemble(Path(arguments.repositories), Path(arguments.data))
        return
    folder = data.folder(arguments.data)
    libraries, none, corpus = data.libraries(folder), data.unneeded(folder), data.corpus(folder)
    sizes = SHORT_SIZES if arguments.short else scale.SIZES
    if arguments.what in ("tune", "lines"):
        tune.run(
            libraries,
            none,
            corpus,
            write=arguments.write,
            lines_only=arguments.what == "lines",
            others=data.libraries(Path(arguments.libraries)) if arguments.libraries else (),
            without_embeddings=arguments.without_embeddings,
        )
    if arguments.what == "unseen":
        unseen.table(data.libraries(Path(arguments.libraries)), none, corpus)
    if arguments.what == "baselines":
        baselines.table(libraries, none, recording=arguments.record)
    if arguments.what in (None, "quality"):
        quality.table(libraries, none)
    if arguments.what in (None, "scale"):
        held_out = data.held_out(corpus) if corpus else None
        scale.tables(libraries, none, corpus, held_out, sizes=sizes, recording=arguments.record)
    if arguments.what in (None, "latency"):
        latency.table(libraries, corpus, sizes)


if __name__ == "__main__":
    main()
