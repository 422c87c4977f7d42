"""Recordings: every run is saved when it ends, to be resumed and replayed without a model."""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from skillkit.core.codec import decode
from skillkit.core.digest import TreeDigest, tree_digest
from skillkit.core.disk import replace_file, sync_folder
from skillkit.core.exceptions import ConfigurationError
from skillkit.core.foreign_json import read_json
from skillkit.core.models import SkillMetadata
from skillkit.core.sources import is_kept_as_is
from skillkit.evaluation.behaviour.executor import EVALUATIONS, Transcript
from skillkit.journal.sensitive import redacted

FORMAT = "skillkit.evaluation.recording"
VERSION = 1
RECORDINGS = "recordings"
"""The folder of recordings, next to the cases."""


class StaleRecordingError(ConfigurationError, code="stale-recording"):
    """The recording belongs to another version of the skill, another prompt or another model."""


class NoRecordingError(ConfigurationError, code="no-recording"):
    """The run was never recorded."""


class UnknownOutcomeError(ConfigurationError, code="unknown-outcome"):
    """A request was pending when an earlier test was killed; its outcome is unknown."""


def digest_of(*parts: object) -> str:
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True, default=str)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def skill_digest(skill: SkillMetadata | None) -> str:
    """Return the digest of the skill without its evaluations, which change when they are run."""
    if skill is None:
        return ""
    files = tree_digest(skill.base_dir).files
    kept = {path: file for path, file in files.items() if path.partition("/")[0] not in EVALUATIONS}
    return TreeDigest.of(kept).digest


@dataclass(frozen=True, slots=True)
class RunKey:
    """Key of a recording: the run and its inputs."""

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
    """The path of the file of cases; the key is the same in another copy of the skill."""

    @property
    def file_name(self) -> str:
        readable = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{self.skill}-{self.case}-{self.variant}-{self.run}")[
            :100
        ]
        place = digest_of(self.skill, self.suite, self.case, self.variant, self.run)
        return f"{readable}-{place[7:15]}.json"

    def as_data(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.__slots__ if name != "suite_folder"}


@dataclass(eq=False)
class PendingRequest:
    """A marker on disk, written before a model request and removed after its response is recorded.

    A killed test leaves it, so that the next one repeats no request without consent.
    """

    mark: Path
    asked: str
    """Name of the model or program, for messages."""
    _begun: bool = field(default=False, init=False)

    def check(self) -> None:
        """Raise if an earlier test left its marker."""
        if not self._begun and self.mark.exists():
            raise UnknownOutcomeError(
                f"An earlier test ended while {self.asked} was answering. The request may have been "
                "sent and is not repeated unless asked to"
            )

    def begin(self) -> None:
        """Write the marker before the model request."""
        self.check()
        self._begun = True
        self.mark.parent.mkdir(parents=True, exist_ok=True)
        with open(self.mark, "w", encoding="utf-8") as file:
            file.write(json.dumps({"begun": self.asked}) + "\n")
            file.flush()
            os.fsync(file.fileno())
        sync_folder(self.mark.parent)

    def end(self) -> None:
        """Remove the marker after the response is recorded."""
        self.mark.unlink(missing_ok=True)

    @contextmanager
    def sent(self) -> Iterator[None]:
        """Hold the marker until the response is recorded; an error or Ctrl-C removes it, since the request
        may be repeated then."""
        self.begin()
        try:
            yield
        except BaseException:
            self.end()
            raise


@dataclass(frozen=True, slots=True)
class _Recording:
    """The content of one file."""

    key: RunKey
    transcript: Transcript
    made: str = ""
    judge: Mapping[str, object] | None = None

    @property
    def broken(self) -> bool:
        """Whether the recorded run failed because of the service; always False for a judge."""
        return self.key.variant != "judge" and self.transcript.broken


@dataclass(eq=False)
class Recordings:
    """Recordings, one file per run."""

    folder: Path | None = None
    """The folder of recordings; None is the folder next to each file of cases, or in `apart`."""
    replay: bool = False
    """Use recordings only; send no model requests."""
    resume: bool = False
    """Use recordings of earlier runs too; otherwise only those of this one."""
    accept_stale: bool = False
    ask_again: bool = False
    """Repeat requests that were pending when an earlier test was killed, at the risk of sending them
    twice."""
    apart: Path | None = None
    """The folder of recordings of installed and bundled skills; a replay finds those beside cases, too."""
    stale: int = field(default=0, init=False)
    """Number of accepted recordings of another version."""
    executor: str = field(default="", init=False)
    """The model or program of the last recording read."""
    model: str = field(default="", init=False)
    judge: Mapping[str, object] | None = field(default=None, init=False)
    """A description of the judge of the recordings read."""
    newest: str = field(default="", init=False)
    """The time of the newest recording read."""
    _made: set[str] = field(default_factory=set, init=False)

    def counts(self, key: RunKey) -> bool:
        """Return whether a run is recorded and need not be repeated."""
        if not (self.replay or self.resume) or (found := self._read(self._path(key))) is None:
            return False
        return self.replay or self.accept_stale or not (self._changes(found, key) or found.broken)

    def find(self, key: RunKey) -> Transcript | None:
        """Return the recording of a run; None if none is valid and a model may be called."""
        fresh = self.replay or self.resume or key.file_name in self._made
        found = self._read(self._path(key)) if fresh else None
        # Of a broken run no response was received, so no request is repeated.
        if found is None or (found.broken and not self.replay):
            if self.replay:
                raise NoRecordingError(f"There is no recording of {key.skill} {key.case} ({key.variant})")
            return None
        changed = self._changes(found, key)
        if changed and not self.accept_stale:
            if self.replay:
                raise StaleRecordingError(
                    f"The recording of {key.skill} {key.case} is of another {' and '.join(changed)}"
                )
            return None
        self.stale += bool(changed)
        self.newest = max(self.newest, found.made)
        if key.variant != "judge":
            self.executor, self.model = found.key.executor, found.key.model
        if found.judge is not None and (key.variant == "judge" or self.judge is None):
            self.judge = found.judge
        return found.transcript

    def calls(self, key: RunKey) -> Path:
        """Return the file of a run's individual responses; resuming uses those of an unfinished run."""
        path = self._unfinished(key, "jsonl")
        if not self.resume:
            path.unlink(missing_ok=True)
        return path

    def mark(self, key: RunKey) -> Path:
        """Return the marker of a run with a pending request; resuming honours the marker of an earlier
        test."""
        path = self._unfinished(key, "asked")
        if not self.resume or self.ask_again:
            path.unlink(missing_ok=True)
        return path

    def keep(self, key: RunKey, transcript: Transcript, judge: Mapping[str, object] | None = None) -> None:
        """Save a run when it ends, with a description of its judge."""
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
        if not transcript.broken:  # an aborted run resumes after its recorded responses
            calls.unlink(missing_ok=True)
        with suppress(OSError):
            calls.parent.rmdir()

    def _unfinished(self, key: RunKey, ending: str) -> Path:
        return self._path(key).parent / "unfinished" / f"{digest_of(key.as_data())[7:39]}.{ending}"

    def _path(self, key: RunKey) -> Path:
        beside = (self.folder or key.suite_folder / RECORDINGS) / key.file_name
        if self.folder is not None or self.apart is None or not is_kept_as_is(key.suite_folder):
            return beside
        path = self.apart / key.file_name
        return beside if self.replay and not path.exists() else path

    def _changes(self, found: _Recording, key: RunKey) -> list[str]:
        """Return the inputs of a recording that changed; a replay has no model to compare."""
        compared = {
            "version of the skill": ["skill_digest"],
            "prompt": ["prompt_digest"],
            "model": ["executor", "model"],
        }
        return [
            label
            for label, names in compared.items()
            if any(getattr(found.key, name) != getattr(key, name) for name in names)
            and not (self.replay and label == "model")
        ]

    def _read(self, path: Path) -> _Recording | None:
        try:
            data = read_json(path)
            if isinstance(data, dict) and data.get("format") == FORMAT and data.get("version") == VERSION:
                return decode(_Recording, data, forgiving=True)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"The recording {path} cannot be read: {error}") from error
        raise ConfigurationError(f"{path} is not a recording of a supported version")
