"""How often an inferred need is one, read by somebody who does not know what was inferred.

python3 dev.py bench needs draw OUT REPOSITORY… [--but REPOSITORY…] [--each N] [--seed N]
python3 dev.py bench needs count OUT

`draw` takes mentions of a sibling from repositories (git directories or folders): of each at most N that
are inferred, and half as many that are not. `OUT/mentions.txt` has each with the text around it, in an
order that says nothing; `OUT/key.jsonl` what was inferred, not to be opened before the reading. The reader
writes `OUT/labels.txt`, a line a mention: its number, `needs`, `border` (a need on a condition or a choice,
counted as one) or `no`; what it leaves out is not counted. `count` compares them, with the rules as they are
now, which may let go of mentions that were inferred, and cannot add any. Left out are skills that lie in the
repositories after `--but` under the same two names, as those that were read before.
"""

import argparse
import json
import math
import random
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import table
from skillkit.core.names import canonical_name
from skillkit.install.exceptions import InstallError
from skillkit.install.fetch import manifest
from skillkit.install.needs import needs_of
from skillkit.install.paths import installed_identity

AROUND = 500
MOST_SKILLS = 120
"""Of one repository, by chance: a few have thousands."""
SKILL_FILE = re.compile(r"(?:\A|/)SKILL\.md\Z", re.IGNORECASE)


@dataclass(frozen=True)
class Mention:
    """A sibling's name in the text of a skill."""

    repository: str
    skill: str
    target: str
    text: str
    place: int
    inferred: bool

    @property
    def context(self) -> str:
        start = max(0, self.place - AROUND)
        end = self.place + len(self.target)
        after = self.text[end : end + AROUND]
        return f"{self.text[start : self.place]}⟦{self.text[self.place : end]}⟧{after}"

    @property
    def heading(self) -> str:
        above = re.findall(r"^#{1,6} .*$", self.text[: self.place], re.MULTILINE)
        return above[-1] if above else ""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("action", choices=("draw", "count"))
    parser.add_argument("out", type=Path)
    parser.add_argument("repositories", nargs="*", type=Path)
    parser.add_argument("--but", nargs="*", type=Path, default=[])
    parser.add_argument("--each", type=int, default=3)
    parser.add_argument("--seed", type=int, default=17)
    chosen = parser.parse_args(arguments)
    if chosen.action == "draw":
        draw(chosen.out, chosen.repositories, chosen.but, chosen.each, random.Random(chosen.seed))
    else:
        count(chosen.out)


def draw(
    out: Path, repositories: Sequence[Path], but: Sequence[Path], each: int, chance: random.Random
) -> None:
    """Write the mentions to be read, and apart from them what was inferred."""
    read = [set(_names(repository)) for repository in but]
    drawn: list[Mention] = []
    for repository in repositories:
        found = [
            mention
            for mention in mentions_in(repository, chance)
            if not any({mention.skill, mention.target} <= names for names in read)
        ]
        read.append(set(_names(repository)))
        chance.shuffle(found)
        drawn += [mention for mention in found if mention.inferred][:each]
        drawn += [mention for mention in found if not mention.inferred][: math.ceil(each / 2)]
    chance.shuffle(drawn)
    out.mkdir(parents=True, exist_ok=True)
    with (out / "mentions.txt").open("w") as shown, (out / "key.jsonl").open("w") as key:
        for number, mention in enumerate(drawn):
            title = f"##### {number} [{mention.skill} → {mention.target}] {mention.heading}"
            shown.write(f"{title}\n{mention.context}\n\n")
            key.write(
                json.dumps(
                    {
                        "number": number,
                        "repository": mention.repository,
                        "skill": mention.skill,
                        "target": mention.target,
                        "place": mention.place,
                        "inferred": mention.inferred,
                        "text": mention.text,
                    }
                )
                + "\n"
            )
    print(f"{len(drawn)} mentions of {len({mention.repository for mention in drawn})} repositories")


def count(out: Path) -> None:
    """Print how many of what is inferred now were read as needs."""
    labels = dict(
        line.split(maxsplit=1) for line in (out / "labels.txt").read_text().splitlines() if line.strip()
    )
    rows: dict[bool, list[str]] = {True: [], False: []}
    repositories: dict[bool, set[str]] = {True: set(), False: set()}
    for line in (out / "key.jsonl").read_text().splitlines():
        one = json.loads(line)
        if str(one["number"]) not in labels:
            continue
        label = labels[str(one["number"])].split()[0]
        inferred = one["inferred"]
        if inferred:  # a rule that came later may have let go of it
            inferred = one["target"] in places_of_needs(one["skill"], [one["target"]], one["text"])
        rows[inferred].append(label)
        repositories[inferred].add(one["repository"])
        if inferred == (label == "no"):
            print(f"{'wrong' if inferred else 'missed'}: {one['number']} {one['skill']} → {one['target']}")
    table(
        "Mentions of a sibling",
        ["", "mentions", "repositories", "needs", "on the border", "no need", "needs in all", "interval"],
        [
            [
                "inferred" if inferred else "not inferred",
                str(len(read)),
                str(len(repositories[inferred])),
                *(str(read.count(label)) for label in ("needs", "border", "no")),
                *_share(len(read) - read.count("no"), len(read)),
            ]
            for inferred, read in rows.items()
        ],
    )


def mentions_in(repository: Path, chance: random.Random) -> Iterator[Mention]:
    """One mention of each sibling that a skill names: the one that makes it a need, else the first."""
    skills = {installed_identity(folder): text for folder, text in _skills(repository)}
    for skill in chance.sample(list(skills), min(MOST_SKILLS, len(skills))):
        text = skills[skill]
        low = text.lower()
        named = [target for target in skills if target in low and canonical_name(target) != skill]
        needed = places_of_needs(skill, named, text)
        for target in named:
            # A name of one word is a mention only where it is marked as one.
            pattern = _word(target) if "-" in target else rf"(?<=[`/@*\[]){re.escape(target)}(?=[`*\]\s])"
            place = needed.get(target, next(_places(pattern, text), None))
            if place is not None:
                yield Mention(repository.as_posix(), skill, target, text, place, target in needed)


def places_of_needs(skill: str, targets: Sequence[str], text: str) -> dict[str, int]:
    """Where the program reads that `skill` needs each of `targets`, for those that it infers."""
    try:
        metadata = manifest(text.encode(), skill)
    except InstallError:
        return {}
    places = {}
    for need in needs_of(metadata, text, targets):
        if not need.declared:
            said = [re.escape(word) for word in need.reason.strip("“”").split()]
            sentence = re.search(r"\s+(?:>\s+)?".join(said[:12]), text)
            start = sentence.start() if sentence else 0
            places[need.name] = next(_places(_word(need.name), text, start), 0)
    return places


def _skills(repository: Path) -> Iterator[tuple[str, str]]:
    """Folder name and text of each skill; of two with one name the first."""
    if not (repository / "HEAD").is_file():
        for path in sorted(repository.rglob("*")):
            if SKILL_FILE.search(path.name) and path.is_file():
                yield path.parent.name, path.read_bytes().decode("utf-8", "replace")
        return
    for folder, blob in _blobs(repository).items():
        try:
            yield folder, _git(repository, "cat-file", "blob", blob).decode("utf-8", "replace")
        except subprocess.CalledProcessError:
            continue  # a snapshot may lack it


def _blobs(repository: Path) -> dict[str, str]:
    blobs: dict[str, str] = {}
    for row in _git(repository, "ls-tree", "-r", "-z", "HEAD").decode("utf-8", "replace").split("\0"):
        about, _, path = row.partition("\t")
        if SKILL_FILE.search(path) and "/" in path:
            blobs.setdefault(path.rsplit("/", 2)[-2], about.split()[2])
    return blobs


def _names(repository: Path) -> Iterator[str]:
    bare = (repository / "HEAD").is_file()
    return map(installed_identity, _blobs(repository) if bare else (name for name, _ in _skills(repository)))


def _git(repository: Path, *arguments: str) -> bytes:
    command = ["git", f"--git-dir={repository}", *arguments]
    return subprocess.run(command, check=True, capture_output=True).stdout


def _word(name: str) -> str:
    return rf"(?<![\w-]){re.escape(name)}(?![\w-])"


def _places(pattern: str, text: str, start: int = 0) -> Iterator[int]:
    return (match.start() for match in re.compile(pattern, re.IGNORECASE).finditer(text, start))


def _share(right: int, of: int) -> tuple[str, str]:
    """Share, and Wilson's interval of 95 %."""
    if not of:
        return "—", "—"
    z, share = 1.96, right / of
    middle, wide = share + z * z / (2 * of), z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    low, high = ((middle + sign * wide) / (1 + z * z / of) for sign in (-1, 1))
    return f"{right} of {of}, {share:.1%}", f"{low:.0%}–{high:.0%}"


if __name__ == "__main__":
    main()
