"""Pictures of the inspector: every page as a real browser shows it, over a library in use.

python3 dev.py pictures inspect-home              those of the documentation, over the example skills
python3 dev.py pictures --from=FOLDER …            with skills of git repositories, the last in the project
python3 dev.py pictures --everything=FOLDER       every page, desktop and phone, light and dark, into FOLDER
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recipes.pictures.inspector_home import PROGRAM, fill

ROOT = Path(__file__).resolve().parents[2]
WIDTH, HEIGHT = 1080, 780
PHONE = (390, 844)
PAGES = {
    "inspect-home": "/",
    "inspect-request": "/request?q=Greet+Alice+and+summarise+this+CSV+file",
    "inspect-skill": "/skill/{skill}",
    "inspect-conversation": "{conversation}",
    "inspect-run": "{run}",
    "inspect-test": "{test}",
}
"""Those that the documentation shows."""
OTHERS = {
    "inspect-skills": "/skills",
    "inspect-conversations": "/conversations",
    "inspect-runs": "/runs",
    "inspect-tests": "/tests",
    "inspect-trust": "/trust",
}
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


def draw(folder: Path, names: list[str], repositories: list[Path], *, everything: bool = False) -> None:
    """Write the pictures of `names`; says why when there is no browser."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        print("kept the pictures of the inspector: no chromium here (dev.py system installs it)")
        return
    from playwright.sync_api import expect, sync_playwright

    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        home = Path(place)
        environment = {
            "HOME": str(home), "PATH": os.environ["PATH"], "TZ": "UTC", "ENABLE_SENSITIVE_DATA": "true",
            "GIT_CONFIG_GLOBAL": os.devnull,
        }  # fmt: skip
        os.environ.update(environment)
        os.chdir(home)
        fill(home, [_example_repository(home), *repositories[:-1]], repositories[-1:], environment)
        started = playwright.chromium.launch(executable_path=browser, args=FLAGS)
        with _inspecting(home, environment) as address:
            root = address.partition("/?")[0]
            for width, height, scheme in _looks(everything=everything):
                page = started.new_page(
                    viewport={"width": width, "height": height}, color_scheme=scheme, timezone_id="UTC"
                )
                page.goto(address)
                for name in names:
                    page.goto(root + _found(page, root, {**PAGES, **OTHERS}[name]))
                    page.locator("h1").wait_for()
                    expect(page.locator("body")).not_to_contain_text("counting …", timeout=60_000)
                    expect(page.locator("body")).not_to_contain_text("not looked at yet", timeout=60_000)
                    kind = f"-{'phone' if width < WIDTH else 'desktop'}-{scheme}" if everything else ""
                    page.screenshot(path=folder / f"{name}{kind}.png", full_page=everything)
                    print(f"drew {folder.name}/{name}{kind}.png")
                page.close()
        started.close()


def _looks(*, everything: bool) -> list[tuple[int, int, str]]:
    if not everything:
        return [(WIDTH, HEIGHT, "light")]
    return [(*size, scheme) for size in ((WIDTH, HEIGHT), PHONE) for scheme in ("light", "dark")]


def _found(page: object, root: str, address: str) -> str:
    """Return the address of a page that a list leads to: the first link in it."""
    lists = {
        "{conversation}": ("/conversations", "td a[href^='/conversation/']"),
        "{run}": ("/runs", "td a[href^='/run/']"),
        "{test}": ("/tests", "td a[href^='/test/']"),
        "/skill/{skill}": ("/skills?order=uses", "td a[href^='/skill/']"),
    }
    if address not in lists:
        return address
    place, chosen = lists[address]
    page.goto(root + place)  # type: ignore[attr-defined]
    found = page.locator(chosen)  # type: ignore[attr-defined]
    worst = page.locator(f"tr:has(.badge.bad) {chosen}")  # type: ignore[attr-defined]
    return str((worst if worst.count() else found).first.get_attribute("href"))


def _example_repository(home: Path) -> Path:
    """Return the example skills as a repository."""
    place = home / "examples"
    shutil.copytree(ROOT / "examples" / "skills", place)
    git = ["git", "-C", str(place), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "skills"]):
        subprocess.run([*git, *command], check=True)
    return place


@contextmanager
def _inspecting(home: Path, environment: dict[str, str]) -> Iterator[str]:
    process = subprocess.Popen(
        [*PROGRAM, "inspect", "--no-open"], cwd=home, env=environment, text=True, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(timeout=30)
