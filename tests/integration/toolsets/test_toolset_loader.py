"""`module:Class` in a skill's header becomes tools, for skills that are enabled and trusted only."""

import asyncio
import logging
import os
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from skillkit import SkillManager
from skillkit.core.authority import DefaultAuthority
from skillkit.core.availability import Refusal
from skillkit.disclosure.session import Activation, Origin, SkillSession
from skillkit.disclosure.tools import ToolSource
from skillkit.toolsets import (
    ActiveToolsets,
    AgentToolset,
    LoadedToolset,
    ToolsetLoader,
    collect_tools,
)

HELLO = """
    from skillkit.toolsets import AgentToolset

    class Hello(AgentToolset):
        def greet(self, name: str) -> str:
            "Greets somebody."
            return f"Hello {name}"
"""


class TrustAll(DefaultAuthority):
    def __init__(self):
        self.asked = []

    def import_refusal(self, skill, digest, requester):
        self.asked.append((skill.name, digest))


class Distrust(DefaultAuthority):
    def import_refusal(self, skill, digest, requester):
        return Refusal("untrusted", "not trusted")


@pytest.fixture
def write(skills_dir):
    """Write a skill with toolset files: `write("a", "toolsets.x:X", **{"toolsets/x.py": "…"})`."""

    def write(name, *toolsets, **files):
        base = skills_dir / name
        base.mkdir(exist_ok=True)
        listed = "".join(f"\n  - {toolset}" for toolset in toolsets)
        (base / "SKILL.md").write_text(f"---\nname: {name}\ndescription: d\ntoolsets:{listed}\n---\n")
        for path, content in files.items():
            (base / path).parent.mkdir(parents=True, exist_ok=True)
            (base / path).write_text(textwrap.dedent(content))
        return base

    return write


@pytest.fixture
def load(skills_dir):
    def load(trust=None, **options):
        manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="", plugin_dirs=[])
        manager.discover()
        manager.authority = options.pop("managed_by", manager.authority)
        return ToolsetLoader(manager, trust or TrustAll(), **options).load()

    return load


def call(tool, **arguments):
    return asyncio.run(tool.call(arguments)).data


def names(toolsets):
    return [tool.name for tool in toolsets.tools]


@pytest.mark.parametrize(
    "spelling", ["toolsets.hello:Hello", "toolsets/hello:Hello", "./toolsets/hello.py:Hello"]
)
def test_a_toolset_is_found_by_module_and_class(write, load, spelling):
    write("demo", spelling, **{"toolsets/hello.py": HELLO})
    before = list(sys.path)
    toolsets = load()
    assert toolsets.errors == ()
    assert call(toolsets.tools[0], name="Ada")["result"] == "Hello Ada"
    assert toolsets.loaded[0].qualified_name == "demo.Hello"
    assert sys.path == before


def test_loading_writes_nothing_into_the_skill(write, load):
    base = write("demo", "toolsets.hello:Hello", **{"toolsets/__init__.py": "", "toolsets/hello.py": HELLO})
    trust = TrustAll()
    load(trust)
    assert not list(base.rglob("__pycache__"))
    load(trust)
    assert trust.asked[0] == trust.asked[1]


def test_relative_imports_reach_everything_in_the_skill_and_nothing_outside(write, load):
    write("other", **{"secret.py": "VALUE = 'other'"})
    files = {
        "toolsets/__init__.py": "PACKAGE = 'package'",
        "toolsets/near.py": "VALUE = 'near'",
        "lib/far.py": "VALUE = 'far'",
        "toolsets/use.py": """
            from skillkit.toolsets import AgentToolset
            from . import PACKAGE
            from .near import VALUE as NEAR
            from ..lib.far import VALUE as FAR

            class Use(AgentToolset):
                def tell(self):
                    return [PACKAGE, NEAR, FAR]

                def lazily(self):
                    from .near import VALUE
                    return VALUE

                def escape(self):
                    from ... import other
        """,
    }
    write("demo", "toolsets.use:Use", **files)
    tell, lazily, escape = load().tools
    assert call(tell)["result"] == ["package", "near", "far"]
    assert call(lazily)["result"] == "near"
    assert call(escape)["error"] == "execution_failed"


def test_two_skills_with_the_same_module_names_do_not_meet(write, load):
    template = """
        from skillkit.toolsets import AgentToolset
        from .values import VALUE
        class Tools(AgentToolset):
            def {name}(self):
                return VALUE
    """
    for name in ("a", "b"):
        files = {
            "toolsets/tools.py": template.format(name=f"tell_{name}"),
            "toolsets/values.py": f"VALUE = {name!r}",
        }
        write(name, "toolsets.tools:Tools", **files)
    toolsets = load()
    assert [call(tool)["result"] for tool in toolsets.tools] == ["a", "b"]
    assert not any(name in sys.modules for name in ("toolsets", "toolsets.tools", "values"))


def test_a_changed_skill_is_loaded_anew(write, load):
    module = HELLO.replace('f"Hello {name}"', "{}").replace("name: str", "").replace("Hello", "T")
    write("demo", "t:T", **{"t.py": module.format(1)})
    (old,) = load().tools
    write("demo", "t:T", **{"t.py": module.format(2)})
    (new,) = load().tools
    assert [call(old)["result"], call(new)["result"]] == [1, 2]


def test_data_beside_a_module_is_read_as_it_was_trusted(write, load, monkeypatch, tmp_path):
    monkeypatch.setenv("AGENT_HOME", str(tmp_path / "home"))
    read = 'return (__import__("pathlib").Path(__file__).parent / "words.txt").read_text()'
    base = write(
        "data",
        "toolsets.x:Hello",
        **{
            "toolsets/x.py": HELLO.replace('return f"Hello {name}"', read),
            "toolsets/words.txt": "approved",
        },
    )
    tool = load().tools[0]
    (base / "toolsets" / "words.txt").write_text("other")
    assert call(tool, name="a")["result"] == "approved"


def test_a_module_that_is_imported_later_comes_from_the_bytes_that_were_trusted(write, load):
    later = "from .later import say\n            return say()"
    base = write(
        "lazy",
        "toolsets.x:X",
        **{
            "toolsets/x.py": HELLO.replace("Hello", "X", 1).replace('return f"Hello {name}"', later),
            "toolsets/later.py": "def say(): return 'approved'",
        },
    )
    (tool,) = load().tools
    (base / "toolsets" / "later.py").write_text("def say(): return 'other'")
    assert asyncio.run(tool.handler(name="x"))["result"] == "approved"


@pytest.mark.parametrize("why", ["untrusted", "disabled", "bundled only", "linked"])
def test_nothing_is_imported_before_the_skill_is_enabled_and_trusted(write, load, tmp_path, why):
    trace = tmp_path / "imported"
    base = write("demo", "evil:Evil", **{"evil.py": f"open({str(trace)!r}, 'w')"})

    class Disabled(DefaultAuthority):
        def offer_refusal(self, skill, requester):
            return Refusal("disabled", f"Skill '{skill.name}' is disabled")

    if why == "linked":
        (base / "link").symlink_to("/etc")
    trust = {"untrusted": Distrust(), "bundled only": DefaultAuthority()}.get(why)
    toolsets = load(trust, managed_by=Disabled() if why == "disabled" else DefaultAuthority())
    assert toolsets.tools == ()
    assert len(toolsets.errors) == 1
    assert not trace.exists()


def test_trust_is_asked_for_the_digest_of_the_whole_tree(write, load):
    base = write("demo", "toolsets.hello:Hello", **{"toolsets/hello.py": HELLO})
    trust = TrustAll()
    load(trust)
    (base / "data.txt").write_text("changed")
    load(trust)
    assert trust.asked[0] != trust.asked[1]


@pytest.mark.parametrize(
    "broken",
    [
        (
            "toolsets.bad:Bad",
            "import no_such_package_here",
            "needs the Python package 'no_such_package_here'",
        ),
        ("toolsets.bad:Bad", "import no_such_package_here.sub", "pip install no_such_package_here"),
        ("toolsets.bad:Bad", "from .missing import x", "No module named"),
        ("toolsets.bad:Bad", "raise RuntimeError('broken')", "RuntimeError: broken"),
        ("toolsets.bad:Bad", "import sys; sys.exit(3)", "SystemExit: 3"),
        ("toolsets.bad:Bad", "x = (", "SyntaxError"),
        ("toolsets.bad:Bad", "Bad = 1", "has no class Bad"),
        ("toolsets.bad:Bad", "class Bad: pass", "Bad must inherit from AgentToolset"),
        ("toolsets.none:Bad", "", "there is no file toolsets/none.py"),
        ("../outside:Bad", "", "must be written as module:Class"),
        ("/etc/passwd:Bad", "", "must be written as module:Class"),
        ("toolsets.bad", "", "must be written as module:Class"),
        ("os:Bad", "", "there is no file os.py"),
    ],
)
def test_what_cannot_be_loaded_names_the_skill_and_the_reason_and_the_others_go_on(
    write, load, caplog, broken
):
    definition, module, said = broken
    write("bad", f'"{definition}"', **{"toolsets/bad.py": module})
    write("good", "toolsets.hello:Hello", **{"toolsets/hello.py": HELLO})
    with caplog.at_level(logging.ERROR):
        toolsets = load()
    assert names(toolsets) == ["greet"]
    (error,) = toolsets.errors
    assert (error.skill_name, error.toolset) == ("bad", definition)
    assert str(error).startswith(f"Toolset '{definition}' of skill 'bad' cannot be loaded: ")
    assert said in str(error)
    assert str(error) in caplog.text


def test_a_module_that_fails_leaves_nothing_in_memory(write, load):
    write(
        "bad", "toolsets.bad:Bad", **{"toolsets/bad.py": "from . import near\n1 / 0", "toolsets/near.py": ""}
    )
    load()
    assert not [name for name in sys.modules if name.startswith("skillkit_skills.leaving_")]


def test_a_constructor_that_fails_is_an_error_like_any_other(write, load):
    module = """
        from skillkit.toolsets import AgentToolset
        class Bad(AgentToolset):
            def __init__(self):
                raise RuntimeError("no")
    """
    write("bad", "bad:Bad", **{"bad.py": module})
    (error,) = load().errors
    assert "RuntimeError: no" in str(error)


def test_the_configuration_is_handed_to_toolsets_that_take_one(write, load):
    module = """
        from skillkit.toolsets import AgentToolset
        class Plain(AgentToolset):
            def tell(self):
                return self.config
        class Bare(AgentToolset):
            def __init__(self):
                super().__init__("none")
            def tell_bare(self):
                return self.config
    """
    write("demo", "t:Plain", "t:Bare", **{"t.py": module})
    assert [call(tool)["result"] for tool in load(config="given").tools] == ["given", "none"]


SEARCH = """
    from skillkit.toolsets import AgentToolset
    class {name}(AgentToolset):
        def search(self):
            return "{name}"
"""


def test_a_collision_keeps_the_first_and_is_logged(write, load, caplog):
    write("a", "t:X", **{"t.py": SEARCH.format(name="X")})
    write("b", "t:Y", **{"t.py": SEARCH.format(name="Y")})
    toolsets = load()
    assert names(toolsets) == ["search"]
    assert call(toolsets.tools[0])["result"] == "X"
    line = "Tool name collision: 'search' from a.X.search conflicts with b.Y.search (using first)"
    assert line in caplog.messages


@pytest.mark.parametrize("by", ["environment", "argument"])
def test_prefixing_keeps_both(write, load, monkeypatch, caplog, by):
    write("a", "t:X", **{"t.py": SEARCH.format(name="X")})
    write("github-devops", "t:Y", **{"t.py": SEARCH.format(name="Y")})
    if by == "environment":
        monkeypatch.setenv("SKILL_AUTO_PREFIX", "true")
        monkeypatch.setattr("os.environ", os.environ)
        toolsets = load()
    else:
        toolsets = load(auto_prefix=True)
    assert names(toolsets) == ["search", "github_devops_search"]
    assert call(toolsets.tools[1])["result"] == "Y"
    assert "collision" not in caplog.text


def test_a_toolset_that_cannot_list_its_tools_takes_nobody_with_it(caplog):
    class Broken(AgentToolset):
        def get_tools(self):
            raise RuntimeError("no")

    class Odd(AgentToolset):
        def get_tools(self):
            return ["not a method", self.fine]

        def fine(self):
            return 1

    loaded = [LoadedToolset("x", Broken()), LoadedToolset("y", Odd())]
    assert [tool.name for tool in collect_tools(loaded)] == ["fine"]
    assert "Cannot list the tools" in caplog.text


def test_a_link_in_a_package_is_not_followed(write, load, tmp_path):
    outside = tmp_path / "outside.py"
    outside.write_text("raise AssertionError")
    base = write("demo", "t:T", **{"x.py": ""})
    (base / "t.py").symlink_to(outside)
    (error,) = load().errors
    assert Path(error.toolset).name == "t:T"


def test_only_the_toolsets_of_active_skills_are_loaded_and_offered(write, skills_dir, tmp_path, caplog):
    trace = tmp_path / "imported"
    write("demo", "toolsets.hello:Hello", **{"toolsets/hello.py": HELLO})
    write("broken", "toolsets.none:None_")
    write("other", "evil:Evil", **{"evil.py": f"open({str(trace)!r}, 'w')"})
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="", plugin_dirs=[])
    manager.discover()
    source: ToolSource = ActiveToolsets(ToolsetLoader(manager, TrustAll()))
    session = SkillSession()
    assert source.tools(session) == ()
    for name in ("demo", "broken", "gone"):
        session.activate(Activation(name, "nonce", Origin.LOADED))
    assert [tool.name for tool in source.tools(session)] == ["greet"]
    assert [tool.name for tool in source.tools(session)] == ["greet"]
    assert caplog.text.count("of skill 'broken' cannot be loaded") == 1
    assert not trace.exists()


def test_a_toolset_is_judged_and_loaded_again_when_its_bytes_change(skills_dir, write):
    write("demo", "hello:Hello", **{"hello.py": HELLO})
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="", plugin_dirs=[])
    manager.discover()
    authority = TrustAll()
    source = ActiveToolsets(ToolsetLoader(manager, authority))
    session = SkillSession()
    session.activate(Activation("demo", "nonce", Origin.LOADED))
    assert [tool.name for tool in source.tools(session)] == ["greet"]
    assert [tool.name for tool in source.tools(session)] == ["greet"]
    write("demo", "hello:Hello", **{"hello.py": HELLO.replace("greet", "welcome")})
    assert [tool.name for tool in source.tools(session)] == ["welcome"]
    assert len(dict.fromkeys(authority.asked)) == 2 == len(authority.asked)
    authority.import_refusal = Distrust().import_refusal
    write("demo", "hello:Hello", **{"hello.py": HELLO.replace("greet", "obey")})
    assert source.tools(session) == ()


def test_a_tool_is_found_by_name_without_making_all_of_them_again(skills_dir, write, monkeypatch):
    write("demo", "hello:Hello", **{"hello.py": HELLO})
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="", plugin_dirs=[])
    manager.discover()
    source = ActiveToolsets(ToolsetLoader(manager, TrustAll()))
    session = SkillSession()
    session.activate(Activation("demo", "nonce", Origin.LOADED))
    made: list[str] = []
    monkeypatch.setattr(AgentToolset, "get_tools", lambda toolset: made.append("list") or [toolset.greet])
    [greet] = source.tools(session)
    assert source.tool("greet", session) is greet
    assert source.tool("none", session) is None
    assert made == ["list"]
    assert source.tool("greet", SkillSession()) is None


@pytest.mark.parametrize(
    "raised", ["KeyboardInterrupt('mine')", "BaseException('mine')", "SystemExit('mine')"]
)
@pytest.mark.parametrize("place", ["import", "constructor", "get_tools"])
def test_whatever_a_toolset_raises_while_it_is_loaded_costs_itself_alone(
    write, load, place: str, raised: str
) -> None:
    methods = {"import": "greet", "constructor": "__init__", "get_tools": "get_tools"}
    body = f"def {methods[place]}(self): raise {raised}"
    first = f"raise {raised}" if place == "import" else ""
    code = f"""
        from skillkit.toolsets import AgentToolset
        {first}
        class Bad(AgentToolset):
            {body}
    """
    write("bad", "toolsets.bad:Bad", **{"toolsets/bad.py": code})
    write("good", "toolsets.hello:Hello", **{"toolsets/hello.py": HELLO})
    loaded = load()
    assert [tool.name for tool in loaded.tools] == ["greet"]
    if place != "get_tools":
        assert [error.skill_name for error in loaded.errors] == ["bad"]
        assert "mine" in str(loaded.errors[0])


@pytest.mark.parametrize("place", ["import", "constructor"])
def test_a_toolset_that_never_finishes_loading_holds_no_other(write, load, monkeypatch, place: str) -> None:
    monkeypatch.setenv("SCRIPT_TIMEOUT", "1")
    held = threading.Event()
    monkeypatch.setattr(threading, "held_by_test", held, raising=False)
    wait = "__import__('threading').held_by_test.wait()"
    code = f"""
        from skillkit.toolsets import AgentToolset
        {wait if place == "import" else ""}
        class Bad(AgentToolset):
            def __init__(self): {wait}
    """
    write("bad", "toolsets.bad:Bad", **{"toolsets/bad.py": code})
    write("good", "toolsets.hello:Hello", **{"toolsets/hello.py": HELLO})
    try:
        loaded = load()
    finally:
        held.set()
    assert [tool.name for tool in loaded.tools] == ["greet"]
    assert "did not return within" in str(loaded.errors[0])
