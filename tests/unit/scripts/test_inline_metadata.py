"""The PEP 723 block is found by lines, and what it may ask for is decided before anything runs."""

import subprocess
import sys

import pytest

from skillkit.scripts.inline_metadata import InlineMetadata, InlineMetadataError, parse_inline_metadata


def script(*lines: str) -> str:
    return "\n".join(("#!/usr/bin/env python3", "# /// script", *lines, "# ///", "import sys"))


def test_dependencies_and_python_are_read():
    metadata = parse_inline_metadata(
        script(
            '# requires-python = ">=3.11"',
            "# dependencies = [",
            "#   \"httpx[http2]>=0.27,<1 ; python_version > '3'\",",
            '#   "click",',
            "# ]",
            "#",
            "# [tool.uv]",
            '# exclude-newer = "2026-01-01T00:00:00Z"',
        )
    )
    assert metadata.dependencies == ("httpx[http2]>=0.27,<1 ; python_version > '3'", "click")
    assert metadata.requires_python == ">=3.11"
    assert metadata.exclude_newer == "2026-01-01T00:00:00Z"
    assert metadata.other_sources == ()


@pytest.mark.parametrize(
    "text",
    [
        "print(1)",
        "# /// script\n# dependencies = ['x']\nprint(1)",
        "# /// other\n# dependencies = ['x']\n# ///",
        "#/// script\n# dependencies = ['x']\n# ///",
        "x = '''\n    # /// script\n    # ///\n'''",
    ],
)
def test_a_script_without_a_whole_block_asks_for_nothing(text):
    assert parse_inline_metadata(text) == InlineMetadata()


def test_the_block_ends_at_its_last_fence():
    metadata = parse_inline_metadata(script('# dependencies = ["a"]', '# note = """', "# ///", '# """'))
    assert metadata.dependencies == ("a",)


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("# dependencies = ['evil @ https://example.invalid/evil.whl']", "the direct URL"),
        ("# dependencies = ['evil @ file:///tmp/evil']", "the direct URL"),
        ("# dependencies = ['./local']", "the path or option"),
        ("# dependencies = ['-r other.txt']", "the path or option"),
        ("# dependencies = ['--index-url=http://example.invalid']", "the path or option"),
        ("# dependencies = ['git+https://example.invalid/x.git']", "the path or option"),
        ("# dependencies = ['a']\n# [tool.uv.sources]\n# a = { path = '.' }", "[tool.uv] sources"),
        ("# dependencies = ['a']\n# [[tool.uv.index]]\n# url = 'x'", "[tool.uv] index"),
        ("# dependencies = ['a']\n# [tool.uv]\n# find-links = ['x']", "[tool.uv] find-links"),
        ("# dependencies = ['a']\n# [tool.uv]\n# extra-index-url = ['x']", "[tool.uv] extra-index-url"),
    ],
)
def test_other_sources_are_noticed(line, named):
    (found, *_) = parse_inline_metadata(script(line)).other_sources
    assert named in found


@pytest.mark.parametrize(
    "lines",
    [
        ("# dependencies = [",),
        ("# dependencies = 'click'",),
        ("# dependencies = [1]",),
        ('# dependencies = ["a\\nb"]',),
        ("# dependencies = ['a b c']",),
        ("# dependencies = ['']",),
        ("# requires-python = 3",),
        ("# tool.uv = 1",),
        ("# dependencies = ['x']", "# ///", "", "# /// script", "# dependencies = ['y']"),
        ("# dependencies = [" + "'a'," * 201 + "]",),
        ("# x = " + "[" * 5000,),
    ],
)
def test_a_block_that_cannot_be_understood_is_refused(lines):
    with pytest.raises(InlineMetadataError):
        parse_inline_metadata(script(*lines))


def test_a_hostile_block_is_parsed_in_one_pass():
    parse_inline_metadata("# /// script\n" * 200_000)
    parse_inline_metadata("# /// script\n" + "#\n" * 400_000)


@pytest.mark.parametrize(
    "lines",
    [
        ["# dependencies = [", *(f"# 'a{' ' * 490}/'," for _ in range(60)), "# ]"],
        ["# " + ".".join("a" * 40_000) + " = 1"],
        [f"# {'.'.join('a' * 990)}{number} = 1" for number in range(16)],
        ["# a = " + "9" * 300_000],
        ["# a = " + "[" * 1900],
        ['# requires-python = ">=' + "1." * 900 + '!"'],
    ],
    ids=["spaces", "long key", "long keys", "digits", "brackets", "versions"],
)
def test_no_block_holds_the_interpreter_for_long(lines):
    """Measured in processor time, which a busy machine does not stretch; minutes before."""
    program = (
        "import resource, sys\n"
        "from skillkit.scripts.inline_metadata import InlineMetadataError, parse_inline_metadata\n"
        "used = resource.getrusage(resource.RUSAGE_SELF).ru_utime\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (int(used) + 3, int(used) + 3))\n"
        "try:\n    parse_inline_metadata(sys.stdin.read())\n"
        "except InlineMetadataError:\n    pass\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], input=script(*lines), text=True, capture_output=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
