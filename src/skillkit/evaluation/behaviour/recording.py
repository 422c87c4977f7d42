"""Recordings: every run on disk as soon as it is over, to be resumed and replayed without a model."""

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from skillkit.core.digest import TreeDigest, tree_digest
from skillkit.core.disk import replace_file
from skillkit.core.exceptions import ConfigurationError
from skillkit.core.foreign_json import read_json
from skillkit.core.models import SkillMetadata
from skillkit.evaluation.behaviour.transcript import Transcript
from skillkit.journal.sensitive import redacted

FORMAT = "skillkit.evaluation.recording"
VERSION = 1
RECORDINGS = "recordings"
"""The folder beside the cases."""


class StaleRecordingError(ConfigurationError):
    """A recording of another version of the skill, another prompt or another model."""


class NoRecordingError(ConfigurationError):
    """A run that was never recorded."""


def digest_of(*parts: object) -> str:
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True, default=str)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def skill_digest(skill: SkillMetadata | None) -> str:
    """The skill without its evaluations, which change when they are run."""
    if skill is None:
        return ""
    files = tree_digest(skill.base_dir).files
    kept = {path: file for path, file in files.items() if not path.startswith(("evals/", "eval/"))}
    return TreeDigest.of(kept).digest


@dataclass(frozen=True, slots=True)
class RunKey:
    """Which run a recording is of, and what it depends on."""

    skill: str
    suite: str
    case: str
    variant: str
    """`with` or `without` the skill, or `judge`."""
    run: int
    executor: str
    model: str
    prompt_digest: str
    skill_digest: str
    suite_folder: Path = Path()
    """Where the file of cases lies; the key is the same in another copy of the skill."""

    @property
    def file_name(self) -> str:
        readable = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{self.skill}-{self.case}-{self.variant}-{self.run}")[
            :100
        ]
        place = digest_of(self.skill, self.suite, self.case, self.variant, self.run)
        return f"{readable}-{place[7:15]}.json"

    def as_data(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.__slots__ if name != "suite_folder"}


class Recordings:
    """Recordings, one file a run."""

    def __init__(
        self,
        folder: Path | None = None,
        replay: bool = False,
        resume: bool = False,
        accept_stale: bool = False,
        ask_again: bool = False,
    ) -> None:
        self.folder = folder
        """Where they are; None is the folder beside each file of cases."""
        self.replay = replay
        """Only recordings; no model is asked."""
        self.resume = resume
        """Recordings of an earlier run count; without it only those of this one do."""
        self.accept_stale = accept_stale
        self.ask_again = ask_again
        """Ask what was under way when an earlier test was killed, although that may be the second time."""
        self.stale = 0
        """How many recordings of another version were accepted."""
        self.executor = ""
        """Who made the recording that was read last."""
        self.model = ""
        self.judge: Mapping[str, object] | None = None
        """How often the judge was right whose recordings were read."""
        self.newest = ""
        """When the newest of the recordings that were read was made."""
        self._made: set[str] = set()

    def counts(self, key: RunKey) -> bool:
        """Whether a run need not be made because it is recorded."""
        if not (self.replay or self.resume) or (data := self._read(self._path(key))) is None:
            return False
        return self.replay or self.accept_stale or not (self._changes(data, key) or _is_broken(data))

    def find(self, key: RunKey) -> Transcript | None:
        """The recording of a run; None where there is none that counts and a model may be asked."""
        fresh = self.replay or self.resume or key.file_name in self._made
        data = self._read(self._path(key)) if fresh else None
        if data is not None and not self.replay and _is_broken(data):
            data = None  # nothing was answered, so nothing is asked twice
        if data is None:
            if self.replay:
                raise NoRecordingError(f"There is no recording of {key.skill} {key.case} ({key.variant})")
            return None
        recorded = data.get("key")
        changed = self._changes(data, key)
        if changed and not self.accept_stale:
            if self.replay:
                raise StaleRecordingError(
                    f"The recording of {key.skill} {key.case} is of another {' and '.join(changed)}"
                )
            return None
        self.stale += bool(changed)
        self.newest = max(self.newest, str(data.get("made", "")))
        if isinstance(recorded, Mapping) and key.variant != "judge":
            self.executor, self.model = str(recorded.get("executor", "")), str(recorded.get("model", ""))
        agreement = data.get("judge")
        if isinstance(agreement, Mapping) and (key.variant == "judge" or self.judge is None):
            self.judge = agreement
        transcript = data.get("transcript")
        return Transcript.from_data(transcript) if isinstance(transcript, Mapping) else None

    def calls(self, key: RunKey) -> Path:
        """Return the file of a run's single calls; those of an unfinished run count when resuming."""
        path = self._unfinished(key, "jsonl")
        if not self.resume:
            path.unlink(missing_ok=True)
        return path

    def mark(self, key: RunKey) -> Path:
        """Return the mark of a run that waits for an answer; one of an earlier test counts when resuming."""
        path = self._unfinished(key, "asked")
        if not self.resume or self.ask_again:
            path.unlink(missing_ok=True)
        return path

    def keep(self, key: RunKey, transcript: Transcript, judge: Mapping[str, object] | None = None) -> None:
        """Write a run as soon as it is over, with the agreement of who judges it."""
        data = {
            "format": FORMAT,
            "version": VERSION,
            "key": key.as_data(),
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "transcript": transcript.as_data(),
            **({"judge": judge} if judge is not None else {}),
        }
        self._made.add(key.file_name)
        self._path(key).parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(data, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
        replace_file(self._path(key), redacted(text).encode("utf-8", "replace"))
        self._unfinished(key, "asked").unlink(missing_ok=True)
        calls = self._unfinished(key, "jsonl")
        if not transcript.broken:  # one that broke off goes on after the answers that it got
            calls.unlink(missing_ok=True)
        with suppress(OSError):
            calls.parent.rmdir()

    def _unfinished(self, key: RunKey, ending: str) -> Path:
        return self._path(key).parent / "unfinished" / f"{digest_of(key.as_data())[7:39]}.{ending}"

    def _path(self, key: RunKey) -> Path:
        return (self.folder or key.suite_folder / RECORDINGS) / key.file_name

    def _changes(self, data: Mapping[str, object], key: RunKey) -> list[str]:
        """What a recording depends on that is different now; in a replay there is no model to compare."""
        kept = data.get("key")
        recorded = kept if isinstance(kept, Mapping) else {}
        compared = {
            "version of the skill": ["skill_digest"],
            "prompt": ["prompt_digest"],
            "model": ["executor", "model"],
        }
        return [
            label
            for label, names in compared.items()
            if any(recorded.get(name) != getattr(key, name) for name in names)
            and not (self.replay and label == "model")
        ]

    def _read(self, path: Path) -> dict[str, object] | None:
        try:
            data = read_json(path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"The recording {path} cannot be read: {error}") from error
        if not isinstance(data, dict) or data.get("format") != FORMAT or data.get("version") != VERSION:
            raise ConfigurationError(f"{path} is no recording that this version reads")
        return data


def _is_broken(data: Mapping[str, object]) -> bool:
    """Whether a recording is of a run that failed for the service's sake; a judge has its reason there."""
    key, transcript = data.get("key"), data.get("transcript")
    if not isinstance(key, Mapping) or key.get("variant") == "judge" or not isinstance(transcript, Mapping):
        return False
    return Transcript.from_data(transcript).broken
