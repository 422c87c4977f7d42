"""Reports that were made on this machine, kept so that runs can be compared over time."""

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
    """A folder with the newest reports, readable by the user alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, report: Report) -> str:
        """Write a report down and return its name; the oldest beyond the limit goes."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        stamp = re.sub(r"[^0-9TZ.-]", "", report.created.replace(":", "").replace("+0000", "Z"))[:24]
        name = f"{stamp or 'T'}-{os.getpid()}.json"
        text = json.dumps(report.as_data(), ensure_ascii=True, default=str)
        replace_file(self.folder / name, text.encode(), mode=0o600)
        for old in sorted(self.folder.glob("*.json"))[:-KEPT]:
            old.unlink(missing_ok=True)
        return name

    def load(self, name: str) -> Report | None:
        """Return a report by its name; None when it is gone, damaged or no name of ours."""
        if not _NAME.fullmatch(name):
            return None
        try:
            return Report.from_data(read_json(self.folder / name))
        except (OSError, ValueError, ConfigurationError):
            return None
