"""`python3 dev.py bench evaluation [--corpus FOLDER] [--skills FOLDER]`: planted defects."""

import argparse
import random
import shutil
import tempfile
from collections import defaultdict
from pathlib import Path

from benchmarks.evaluation import skills
from benchmarks.evaluation.planting import KINDS, Kind
from benchmarks.measure import record, table
from skillkit.evaluation import CaseOutcome, SkillTester, find_targets
from skillkit.evaluation.report import Result
from skillkit.evaluation.script_runs import sandboxed_scripts

SEED = 20261116


def main() -> None:
    parser = argparse.ArgumentParser(prog="dev.py bench evaluation", description=__doc__)
    parser.add_argument("--corpus", help="folder of the corpus (or SKILLKIT_CORPUS)")
    parser.add_argument("--skills", action="append", default=[], help="a folder of skills with scripts")
    parser.add_argument("--each", type=int, default=10, help="defects of each kind")
    parser.add_argument("--only", help="one kind")
    parser.add_argument("--seed", type=int, default=SEED, help="which skills of the corpus are taken")
    parser.add_argument(
        "--show", action="store_true", help="print what was missed and what was a false alarm"
    )
    arguments = parser.parse_args()
    corpus = skills.corpus_folder(arguments.corpus)
    if corpus is None:
        parser.error("the corpus is not here; name its folder with --corpus")
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        skills.unpack(corpus, work / "corpus")
        texts = skills.sound_folders(corpus, work / "corpus", 4 * arguments.each, arguments.seed)
        coded = list(skills.script_folders([Path(folder) for folder in arguments.skills]))
        kinds = [kind for kind in KINDS if arguments.only in (None, kind.name)]
        measure(kinds, texts, coded, work, arguments.each, show=arguments.show)


def measure(
    kinds: list[Kind], texts: list[Path], coded: list[Path], work: Path, each: int, *, show: bool
) -> None:
    """Plant, test, count; then test the same skills unharmed."""
    found: dict[str, list[bool]] = defaultdict(list)
    harmed: dict[str, set[Path]] = defaultdict(set)
    for kind in kinds:
        sources = coded if kind.scripts else texts
        for number in range(4 * each):
            if len(found[kind.name]) >= each:
                break
            source = sources[number % len(sources)]
            chance = random.Random(f"{SEED}{kind.name}{number}")
            folder = copied(source, work / "harmed" / kind.name.replace(" ", "-") / str(number))
            if not kind.plant(folder, chance):
                continue
            harmed[kind.name].add(source)
            hit = bool({kind.rule, "loads"} & alarms(folder))
            found[kind.name].append(hit)
            if show and not hit:
                print("missed:", kind.name, folder.relative_to(work))
    used = sorted({source for sources in harmed.values() for source in sources})
    clean = {
        source: alarms(copied(source, work / "clean" / str(number))) for number, source in enumerate(used)
    }
    rows = []
    for kind in kinds:
        hits = found[kind.name]
        false = [kind.rule in clean[source] for source in harmed[kind.name]]
        rows.append(
            (kind.name, kind.tier, kind.rule, str(len(hits)), str(sum(hits)), f"{sum(false)} of {len(false)}")
        )
    everything = [hit for hits in found.values() for hit in hits]
    rules = {kind.rule for kind in kinds}
    alarmed = [(source, rule) for source, rules_found in clean.items() for rule in rules_found & rules]
    pairs = len(clean) * len(rules)
    table("Planted defects", ("kind", "tier", "rule", "planted", "found", "alarms unharmed"), rows)
    hits, planted = sum(everything), len(everything)
    print(f"\n{hits} of {planted} defects of {len(kinds)} kinds found ({hits / planted:.1%}).")
    print(f"{len(alarmed)} alarms of {pairs} on {len(clean)} skills unharmed ({len(alarmed) / pairs:.1%}).")
    if show:
        for source, rule in sorted(alarmed):
            print("alarm:", rule, source.relative_to(work) if source.is_relative_to(work) else source.name)
    if len(kinds) == len(KINDS):
        numbers = {
            "planted": len(everything),
            "found": sum(everything),
            "kinds": len(kinds),
            "skills": len(clean),
        }
        record("evaluation", {**numbers, "alarms": len(alarmed), "asked": pairs})


def copied(source: Path, into: Path) -> Path:
    """A copy that keeps the name of the folder, in a library with one neighbour."""
    folder = into / source.name
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(skills.BUNDLED / "skill-author", into / "skill-author", dirs_exist_ok=True)
    return folder


def alarms(folder: Path) -> set[str]:
    """The rules that have something to say about the skill, be it a failure or a warning."""
    targets = find_targets([folder.parent])
    tester = SkillTester(targets.skills, targets.suites, mode="lexical", unloadable=targets.unloadable)
    tester.scripts = sandboxed_scripts(targets.skills)
    tester.skills = [skill for skill in targets.skills if skill.base_dir.name == folder.name]
    results = tester.run_static().results
    return {result.id for result in results if _says_something(result)}


def _says_something(result: Result) -> bool:
    if result.outcome is CaseOutcome.PASSED:
        return False
    # Fields that the specification does not know are worth a word and no defect.
    return any(
        "extension-field" not in problem.message and "unknown-field" not in problem.message
        for problem in result.problems
    )


if __name__ == "__main__":
    main()
