"""`python3 dev.py bench matching [WHAT] [--data FOLDER]`; quality and latency by default."""

import argparse

from benchmarks.matching import baselines, data, latency, quality, tune


def main() -> None:
    parser = argparse.ArgumentParser(prog="dev.py bench matching", description=__doc__)
    parser.add_argument("what", nargs="?", choices=("quality", "latency", "baselines", "tune"))
    parser.add_argument("--data", help="folder of libraries (or SKILLKIT_MATCHING_DATA)")
    parser.add_argument("--write", action="store_true", help="let tune rewrite calibration.py")
    parser.add_argument("--record", action="store_true", help="let baselines keep its numbers")
    arguments = parser.parse_args()
    folder = data.folder(arguments.data)
    libraries, none = data.libraries(folder), data.unneeded(folder)
    if arguments.what == "tune":
        tune.run(libraries, none, write=arguments.write)
        return
    if arguments.what == "baselines":
        baselines.table(libraries, none, recording=arguments.record)
        return
    if arguments.what in (None, "quality"):
        quality.table(libraries, none)
    if arguments.what in (None, "latency"):
        latency.table(libraries)


if __name__ == "__main__":
    main()
