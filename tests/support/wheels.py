"""Packages for scripts, made on the spot: wheels, and a source distribution that runs code when built."""

import base64
import hashlib
import io
import os
import tarfile
import textwrap
import zipfile
from pathlib import Path

import pytest


def build_wheel(
    folder: Path, name: str, files: dict[str, str], requires: str = "", version: str = "1.0"
) -> Path:
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    content = {
        **files,
        f"{info}/METADATA": metadata + (f"Requires-Dist: {requires}\n" if requires else ""),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for path, text in content.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(text.encode())}\n"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for inner, text in content.items():
            wheel.writestr(inner, text)
        wheel.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
    return path


def build_source(folder: Path, name: str, trace: Path) -> None:
    """A source distribution whose build runs code, which is why building is refused."""
    backend = f"""
    import pathlib, sys
    sys.path.insert(0, {os.fspath(Path(__file__).parent)!r})
    pathlib.Path({os.fspath(trace)!r}).write_text("built")
    def build_wheel(directory, settings=None, metadata=None):
        import base64, hashlib, zipfile
        name = "{name}-1.0-py3-none-any.whl"
        files = {{
            "{name}.py": "VALUE = 'from source'",
            "{name}-1.0.dist-info/METADATA": "Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n",
            "{name}-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
            "{name}-1.0.dist-info/RECORD": "",
        }}
        with zipfile.ZipFile(pathlib.Path(directory) / name, "w") as wheel:
            for path, text in files.items():
                wheel.writestr(path, text)
        return name
    """
    project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    project += f'[project]\nname = "{name}"\nversion = "1.0"\n'
    members = {
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        "pyproject.toml": project,
        "backend.py": textwrap.dedent(backend),
    }
    with tarfile.open(folder / f"{name}-1.0.tar.gz", "w:gz") as archive:
        for inner, text in members.items():
            member = tarfile.TarInfo(f"{name}-1.0/{inner}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder of packages that is the only place uv may look into."""
    folder = tmp_path / "packages"
    folder.mkdir()
    build_wheel(folder, "outer", {"outer.py": "import inner\nVALUE = 'outer of ' + inner.VALUE"}, "inner>=1")
    build_wheel(folder, "inner", {"inner.py": "VALUE = 'inner'"})
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    (tmp_path / "no-index").mkdir()
    monkeypatch.setenv("UV_DEFAULT_INDEX", (tmp_path / "no-index").as_uri())
    return folder


@pytest.fixture
def fresh(workshop, tmp_path_factory):
    """A workshop whose environments have not been built before."""
    home = workshop.folder / ".home"
    home.mkdir()
    workshop.home = home
    yield workshop
    for folder, _, _ in os.walk(home):
        os.chmod(folder, 0o755)
