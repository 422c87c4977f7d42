"""What a tool answered: text for the model, and whether it failed."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from skillkit.disclosure.fence import attribute, error_element, fenced, nonce_for
from skillkit.disclosure.shown_files import ShownFile

_OUTPUT = re.compile(
    r'<skill_output tool="[^"]*">\n\[(?P<nonce>[0-9a-f]{16}) begin\]\n'
    r"(?P<text>.*)\n\[(?P=nonce) end\]\n(?:<error [^\n]*</error>\n)?</skill_output>",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to one call of a tool.

    A handler that returns a ToolResult has written text of ours; whatever else it returns is data of
    somebody else, and `from_data` is the one place where such data becomes text for a model.
    """

    text: str
    """As the model may read it."""
    failed: bool = False
    """What every framework's own error flag is set from."""
    data: object = None
    """What the handler returned, when that was data."""
    shown: tuple[ShownFile, ...] = ()
    """Files that a script made and the model is to look at, where the program wants that."""

    @property
    def files(self) -> list[dict[str, object]]:
        """What a script has made, for the program: name, bytes, media_type, digest, path and uri of each."""
        listed = self.data.get("files") if isinstance(self.data, Mapping) else None
        return [dict(file) for file in listed or () if isinstance(file, Mapping)]

    @classmethod
    def from_data(cls, tool: str, data: object) -> "ToolResult":
        """Fence `data`, with nothing hidden in it; `{"success": false}` is a failure."""
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, default=str)
        failed = isinstance(data, Mapping) and data.get("success") is False
        fence = fenced(text, nonce_for(text))
        if isinstance(data, Mapping) and failed:
            fence += f"\n{error_element(str(data.get('error')), str(data.get('message')))}"
        return cls(f'<skill_output tool="{attribute(tool)}">\n{fence}\n</skill_output>', failed, data)

    @classmethod
    def failure(cls, tool: str, code: str, message: str) -> "ToolResult":
        """An answer that says what went wrong."""
        return cls.from_data(tool, {"success": False, "error": code, "message": message})


def unfence(output: str) -> str | None:
    """The defanged text inside a whole `<skill_output>`; None when `output` is something else."""
    found = _OUTPUT.fullmatch(output)
    return None if found is None else found["text"]
