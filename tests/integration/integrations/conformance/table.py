"""The table of features by framework, made of what the suite runs."""

from conformance.drivers import DRIVERS
from conformance.scenarios import SCENARIOS, TITLES

BEGIN, END = "<!-- features: generated -->", "<!-- features: end -->"
YES, NO = "yes", "—"


def feature_table() -> str:
    """Markdown: a row for each promise, a column for each framework, notes for what cannot be done."""
    frameworks = list(dict.fromkeys(driver.title for driver in DRIVERS))
    notes: dict[str, int] = {}
    lines = [
        f"| feature | {' | '.join(frameworks)} |",
        f"|---|{'---|' * len(frameworks)}",
    ]
    for scenario in SCENARIOS:
        cells = []
        for framework in frameworks:
            ways = [driver for driver in DRIVERS if driver.title == framework]
            unable = [driver for driver in ways if scenario in driver.unable]
            mark = NO if len(unable) == len(ways) else YES
            reasons = {_note(driver, scenario, len(ways), len(unable)) for driver in unable}
            numbers = sorted(notes.setdefault(reason, len(notes) + 1) for reason in sorted(reasons))
            cells.append(mark + "".join(f" ({number})" for number in numbers))
        lines.append(f"| {TITLES[scenario]} | {' | '.join(cells)} |")
    variants = []
    for framework in frameworks:
        ways = [driver.variant or "async" for driver in DRIVERS if driver.title == framework]
        variants.append(", ".join(ways))
    lines.append(f"| tested ways | {' | '.join(variants)} |")
    lines.append("")
    lines += [f"{number}. {note}" for note, number in notes.items()]
    return "\n".join(lines)


def _note(driver: type, scenario: str, ways: int, unable: int) -> str:
    reason: str = driver.unable[scenario]  # type: ignore[attr-defined]
    variant: str = driver.variant or "async"  # type: ignore[attr-defined]
    return f"{reason[0].upper()}{reason[1:]}." if unable == ways else f"{variant}: {reason}."


def page_with_table(page: str) -> str:
    """`page` with the table between its marks brought up to date."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{feature_table()}\n{END}{after}"
