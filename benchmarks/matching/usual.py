"""Makes `src/skillkit/matching/usual_terms.txt.gz`: in how many of 1,000 skills a stem occurs.

python3 -m benchmarks.matching.usual [--data FOLDER]

Counted in the archives of real skills beside the labelled libraries, one skill for each name. Left out are
the labelled libraries themselves and the repositories of the corpus that matching is measured on.
"""

import argparse
import gzip
from collections import Counter
from pathlib import Path

import skillkit.matching
from benchmarks.matching import data
from skillkit.matching.lexical import LONGEST_BODY
from skillkit.matching.terms import count_terms, terms

MEASURED = (
    "Alicoder001__agent-skills",
    "alirezarezvani__claude-skills",
    "dotnet__skills",
    "jayden-dang__skills",
    "trailofbits__skills",
)
FEWEST_DESCRIPTIONS, FEWEST_BODIES = 5, 10
"""Of 1,000: what is rarer says something wherever it stands, and may belong to one author alone."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder of libraries (or SKILLKIT_MATCHING_DATA)")
    corpus = data.corpus(data.folder(parser.parse_args().data))
    if corpus is None:
        raise SystemExit("There are no archives of skills beside the data.")
    skills = [skill for skill in corpus.skills if skill.skill_path.parts[0] not in MEASURED]
    descriptions: Counter[str] = Counter()
    bodies: Counter[str] = Counter()
    for skill in skills:
        said = f"{skill.name.replace('_', ' ')} {skill.description}"
        descriptions.update(set(terms(said)))
        bodies.update(count_terms(corpus.bodies[skill.name][:LONGEST_BODY]).keys())
    lines = []
    for term in sorted(bodies.keys() | descriptions.keys()):
        described, instructed = (round(1000 * some[term] / len(skills)) for some in (descriptions, bodies))
        described = described if described >= FEWEST_DESCRIPTIONS else 0
        instructed = instructed if instructed >= FEWEST_BODIES else 0
        if described or instructed:
            lines.append(f"{term} {described} {instructed}\n")
    folder = Path(skillkit.matching.__file__).parent
    (folder / "usual_terms.txt.gz").write_bytes(gzip.compress("".join(lines).encode(), 9, mtime=0))
    print(f"{len(lines)} terms of {len(skills)} skills")


if __name__ == "__main__":
    main()
