"""Local archive of reports, to compare runs over time."""

import json
import os
import re
from pathlib import Path

from skillkit.core.disk import replace_file
from skillkit.core.exceptions import ConfigurationError
from skillkit.core.foreign_json import read_json
from skillkit.evaluation.report import Report

KEPT = 100
_NAME = re.compile(r"[0-9TZ.-]{1,40}\.json")


class ReportArchive:
    """A folder with the newest reports, readable only by the user."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, report: Report) -> str:
        """Store a report and return its name; delete the oldest beyond the limit."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        stamp = re.sub(r"[^0-9TZ.-]", "", report.created.replace(":", "").replace("+0000", "Z"))[:24]
        name = f"{stamp or 'T'}-{os.getpid()}.json"
        text = json.dumps(report.as_data(), ensure_ascii=True, default=str)
        replace_file(self.folder / name, text.encode(), mode=0o600)
        for old in sorted(self.folder.glob("*.json"))[:-KEPT]:
            old.unlink(missing_ok=True)
        return name

    def load(self, name: str) -> Report | None:
        """Return a report by name; None if it is missing, damaged or not a name of this archive."""
        if not _NAME.fullmatch(name):
            return None
        try:
            return Report.from_data(read_json(self.folder / name))
        except (OSError, ValueError, ConfigurationError):
            return None
