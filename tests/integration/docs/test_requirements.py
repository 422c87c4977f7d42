"""Every proof that the table of requirements names exists."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "requirements.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text().splitlines()
    if re.match(r"\| [A-E]-", line)
]


@cache
def names_in(path: Path) -> frozenset[str]:
    nodes = ast.walk(ast.parse(path.read_text()))
    functions = (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(function.name for function in functions if function.name.startswith("test"))


@cache
def slow_names_in(path: Path) -> frozenset[str]:
    """The tests of a file that `python3 dev.py test` leaves out altogether."""
    tree = ast.parse(path.read_text())
    marks = [
        node.value for node in tree.body if isinstance(node, ast.Assign) and "pytestmark" in ast.dump(node)
    ]
    if any(map(leaves_out, marks)):
        return names_in(path)
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(each.name for each in functions if any(map(leaves_out, each.decorator_list)))


def leaves_out(mark: ast.expr) -> bool:
    """Whether a mark, or a list of marks, is about whole tests and says slow or model."""
    return "parametrize" not in (text := ast.unparse(mark)) and ("mark.slow" in text or "mark.model" in text)


def missing(proof: str) -> list[str]:
    """The parts of a proof that lead nowhere: tests as `path::name`, measurements as `benchmarks/path`."""
    lost = []
    for named in re.findall(r"`([^`]+)`", proof):
        path, _, name = named.partition("::")
        file = ROOT / path
        exists = file.is_file() and name in names_in(file) if name else file.exists()
        if not exists or not path.startswith(("tests/", "benchmarks/")):
            lost.append(named)
    return lost


def test_every_row_has_an_id_of_its_own_a_statement_and_a_proof_or_a_dash():
    assert len(ROWS) > 250
    assert all(len(row) == 3 and row[1] for row in ROWS)
    assert len({row[0] for row in ROWS}) == len(ROWS)
    assert [row[0] for row in ROWS if row[2] != "—" and "`" not in row[2]] == []


def test_every_test_that_a_row_names_exists():
    assert {row[0]: lost for row in ROWS if (lost := missing(row[2]))} == {}


def test_every_promise_is_proven_by_a_fast_test():
    """Where tests prove it: what is measured, or proven on another machine, is not run here at all."""
    unproven = []
    for number, _, proof in ROWS:
        tests = [named.partition("::") for named in re.findall(r"`(tests/[^`]+::[^`]+)`", proof)]
        if tests and all(name in slow_names_in(ROOT / path) for path, _, name in tests):
            unproven.append(number)
    assert unproven == []


def test_a_test_that_does_not_exist_would_be_noticed():
    here = "tests/integration/docs/test_requirements.py"
    assert missing(f"`{here}::test_every_test_that_a_row_names_exists`") == []
    assert missing("—") == []
    for wrong in (f"{here}::test_nothing", "tests/nowhere.py::test_x", "benchmarks/nowhere", "src/skillkit"):
        assert missing(f"`{wrong}`") == [wrong]
