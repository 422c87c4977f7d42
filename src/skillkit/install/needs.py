"""Which other skills a skill cannot do without: what its header declares, and what its text tells to use."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from skillkit.core.models import SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.core.text import one_line

_MAX_TEXT = 512 * 1024
_LONGEST_SENTENCE = 600
_HEADING = re.compile(r"#{1,6}\s+(.*)")
_EXAMPLE = re.compile(r"<(\w*example\w*)\b[^>\n]*>.*?</\1>", re.IGNORECASE | re.DOTALL)
_FENCE = re.compile(r"\s*(`{3,}|~{3,})(.*)")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)*]*\s+")
_STARTS_ITEM = re.compile(r"\A\s*(?:[-*+]\s|\d+[.)]\s|\||>)")
_ITEM = re.compile(r"\A\s*(?:[-*+]|\d+[.)])?\s*(?:\[[ xX]\]\s*)?")
# A mention that is marked as one: code, bold, a link, /name, @name, [[name]], with a plugin's name before it.
_MARKED = (
    r"`?Skill\((?:[\w.-]+:)?{name}\)`?"
    r"|\[\[(?:[\w.-]+:)?{name}\]\]"
    r"|\[?[`*]+[/@]?(?:[\w.-]+:)?{name}[`*]+\]?(?:\([^)\s]*\))?"
    r"|\[[/@]?(?:[\w.-]+:)?{name}\]\([^)\s]*\)"
    r"|(?<![\w.~/`])[/@](?:[\w.-]+:)?{name}(?![\w/.-]|:\w)"
)
# "Call `discover`": one word in code after such a verb may be a function or a program.
_PERHAPS_PROGRAM = (
    r"\b(?:call|run|execute|launch)\s+(?:the\s+)?[`*]+{name}[`*]+(?!\s+(?:skill|agent|command|workflow))"
)
_CODE = re.compile(r"`[^`]*`")
_PLAIN = r"(?<![\w./-]){name}(?![\w./-])"
_BEFORE = r"(?:(?:before|after|once)\s+(?!you\b|the\s+user|users?\b|asked)[^,§]{3,90},\s+)?"
_ADVERB = r"(?:(?:please|always|first|then|now|next|also|automatically|you|must|should|to|and)[,:]?\s+)*"
_VERB = r"(?:use|invoke|load|run|call|execute|activate|apply|follow|launch|read\s+and\s+follow)"
# "Use X" may name a program, a choice or another way; "use the X skill" and "invoke X" name a step.
_SKILL = rf"(?:{_VERB}\s+(?:the\s+|its\s+)?(?:skill:?\s+§|§\s+skill)|(?!use\b){_VERB}\s+(?:the\s+|its\s+)?§)"
_DO = re.compile(
    rf"(?:\*\*[^*]{{1,60}}\*\*:?\s+)?\**{_BEFORE}{_ADVERB}{_SKILL}(?=[\s.,:;)*]|$)",
    re.IGNORECASE,
)
# Whose duty it is: other skills, phases and checks may require and invoke what this one does not.
# "Deep dives delegate to X" says where other work goes; an order begins a sentence or a clause.
_DELEGATE = (
    r"(?:(?:\A\W*|[,:;—–.)*]\W*|\b(?:then|and|to|must|should|always|now|you|we|will|skill)\s+)(?:delegate|dispatch)"
    r"|\b(?:delegates|dispatches))\s+to\b"
)
_THIS = r"(?:\A\W*|\b(?:this|the)\s+(?:\w+\s+)?(?:skill|command|workflow|step|phase|mode)\s+|\bit\s+|[:;]\s+)"
_REQUIRED = re.compile(
    rf"(?:{_THIS}requires?\b(?=[^§]*§(?:\s+|-)(?:sub-?)?skill\b)(?:\s+(?:sub-?)?skills?:?)?"
    r"|(?<!\()\brequired(?:\s+(?:sub-?)?skills?)?\W{0,3}:"
    rf"|{_THIS}(?:depends?|relies)\s+on\b"
    r"|\bprerequisites?:|\b(?:you|we|it|agents?|claude|orchestrator|skill)\s+must\s+(?:first\s+)?(?:run|invoke|load|use|have\s+run)\b"
    rf"|\b(?:automatically|immediately)\s+proceed\s+to(?=\s+(?:the\s+)?§)|{_DELEGATE})"
    r"[^\w,]{0,6}(?:\w+[^\w,]{1,3}){0,3}?§",
    re.IGNORECASE,
)
_IF_NOT_YET = re.compile(
    rf"\b{_VERB}\s+(?:the\s+)?§(?:\s+skill)?\s+(?:first|if\s+not|before)\b", re.IGNORECASE
)
_PARTS = re.compile(
    r"(?:\bcomposes(?!(?:\s+\w+)?\s+with\b)|\borchestrates)\b(?![^§]*\b(?:from|into)\b[^§]*§)[^§.;]{0,60}§"
    rf"|{_DELEGATE}(?!\s+(?:is|are|was|were|has|have)\b)[^§.;]{{0,60}}§"
    r"|\bfeed\s+(?:\w+\s+){0,4}to\s+(?:the\s+)?§"
    r"|\bREQUIRED\s+(?:SUB-?)?SKILLS?\b[^§.]*§|\b(?:via|using|per)\s+the\s+§\s+skill\b|\bSkill\s+tool\s+with\s+§",
    re.IGNORECASE,
)
_NEEDED_HEADING = re.compile(
    r"(?<!which\s)\bskills?\s+(?:to\s+(?:invoke|load|use|run)|invoked|used)\b(?!\s+(?:when|for|if)\b)|\bdeclared\s+dependencies\b|\bskill\s+stack\b"
    r"|\brequired\s+(?:sub-?)?skills?\b|\bcomposes\b(?!\s+with)|スキルスタック|技能栈|技能堆栈|工具要求|ツール要件",
    re.IGNORECASE,
)
# A call in so many words, also in blocks of code.
_CALL = (
    r"\bsubagent_type\s*[=:]\s*[\"'](?:[\w.-]+::?)*{name}[\"']|\bskill\s*[=:]\s*[\"'](?:[\w.-]+:)*{name}[\"']"
)
# Agents that clients bring along, not skills.
_BUILT_IN_AGENTS = re.compile(
    r"\bsubagent_type\s*[=:]\s*[\"'](?:explore|plan|general-purpose|default|worker|explorer|statusline-setup)[\"']",
    re.IGNORECASE,
)
_SEE_CALL = re.compile(r"\bsee\s+\W{0,3}skill\b|[\"'`)]\s+or\s+[`(]*(?:subagent_type|skill)\b", re.IGNORECASE)
_SKILL_CALL = re.compile(r"\bskill\s*\(|\bskill`?\s+tool\b|\binvoke\b|\bcall\b")
_OTHER_HEADING = re.compile(
    r"\brelated\b|\badjacent\b|\bsiblings?\b|\bsee\s+also\b|\bwhen\b|\bcross-|\balternatives?\b|\bcompos(?:e|ability|es?\s+with)\b|\bworks?\s+(?:together|with)\b|\bintegrations?\b"
    r"|\bnext\b|\bhand-?offs?\b|\blimitations?\b|\btriggers?\b|\brouting\b|\breferences?\b|\bchaining\b"
    r"|\bexamples?\b|\boverview\b|\bout\s+of\s+scope\b|\bremediat|\bescalat|\bfollow-?ups?\b|\bnot\b|\bnever\b|\bdon['’]t\b|\bavoid\b|\boptional\b|\btroubleshoot|\bpairs?\b|\bboundar|\broute\b|\bfailures?\b"
    r"|\brelationships?\b|\bcollaborat|\bbest\s+practices\b|\bonly\b|\A\W*for\s+(?!each\b|every\b|all\b)|\bnotes?\b|\bgotchas?\b|\btips?\b|\bscenarios?\b|\bexpected\b|\bcovers?\b|\bcoverage\b|\b(?:down|up)stream\b"
    r"|\bartefacts?\b|\btemplates?\b|\bwatch\b|\bfaq\b|\boutput\b|\bscope\s+(?:constraints?|limits?|boundar)|\A[\W\d]*(?:step\W+\d+\w?\W+)?report\b|\(if\b|\?\W*\Z",
    re.IGNORECASE,
)
# What the sections inside of such a section say is no order either.
_OTHER_CHAPTER = re.compile(
    r"\brelated\b|\brelationships?\b|\bsee\s+also\b|\btroubleshoot|\balternatives?\b|\bexamples?\b|\bscenarios?\b|\bfaq\b"
    r"|\bout\s+of\s+scope\b|\bwhen\s+(?:not\s+)?to\s+use\b|\bnotes\b|\bgotchas?\b|\boutput\s+format\b",
    re.IGNORECASE,
)
# A condition that is met until the other skill has done its work, or that is met in the end, is none.
_LACKING = (
    r"(?:[^§,:()]*\b(?:missing|absent|(?:does|do|has|have|is|are)\s+not|(?:does|do|has|have|is|are)n['’]t|no)\b"
    r"|\s+(?:all|everything)\b)"
)
# "If yes:" before a list; what is missing until the other skill has done its work is no condition.
_CASE_OF_LEAD = re.compile(r"(?:\A|:\**\s)\W*if\b(?!" + _LACKING + r")", re.IGNORECASE)
_LABEL = re.compile(r"\W*\*\*([^*§]{1,60}?):?\*\*")
_NOT_ITS_WORK = re.compile(
    r"\brelated\b|\bsee\s+also\b|\bwhen\b|\btriggers?\b|\brouting\b|\balternatives?\b|\bnext\b|\bnot\b|\bnever\b|\btroubleshoot"
    r"|\bexamples?\b|\bhand-?offs?\b|\boptional\b|\bintegrations?\b|\bwhere\b|\bposition\b|\bhow\s+to\s+(?:invoke|call)\b",
    re.IGNORECASE,
)
_SUB_SKILLS = re.compile(r"\bsub-?skills\s*\([^)]*§", re.IGNORECASE)
_ADVICE = re.compile(
    r"\brecommend|\bsuggest|\bthe\s+user\b|\boffer|\boptions?\b|\bchosen\b|\bchoices?\b|\bchooses?\b|\bselect(?:ion|ed|s)\b"
    r"|\bAskUserQuestion\b|\banswers?\b|\breturn\s+to\b",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"\baskuserquestion\b|\buser(?:['’]s)?\s+(?:selection|choice|answer|response|picks?|selects?|chooses?)\b",
    re.IGNORECASE,
)
_CASE_OF_USER = re.compile(r"\b(?:when|if)\s+(?:the\s+)?(?:user|someone|you)\b", re.IGNORECASE)
# "You can use these:" before a list leaves it open.
_AT_WILL = re.compile(
    r"\b(?:can|may|might|could|consider|optional(?:ly)?|useful|helpful|as\s+needed|where\s+relevant)\b",
    re.IGNORECASE,
)
_OPTIONAL = re.compile(r"\boptional", re.IGNORECASE)
# "Do not use this skill for B. Use X." is about another request.
_NOT_FOR = re.compile(
    r"\b(?:do\s+not|don['’]t|never)\s+(?:use|apply|invoke|run|load)\s+(?:this|it)\b"
    r"|\bthis\s+skill\s+(?:is\s+not|does\s+not|isn['’]t|doesn['’]t)\b|\bnot\s+(?:meant\s+)?for\b",
    re.IGNORECASE,
)
# "Delegates to X. Tell them to run it."
_HANDED_ON = re.compile(r"\b(?:delegates?|dispatches|dispatch|hands?)\b", re.IGNORECASE)
_TOLD = re.compile(r"\b(?:tell|inform|direct)\s+(?:them|the\s+user|users)\b", re.IGNORECASE)
# "Invoke Y. This will:" begins what the other one does.
_OF_ANOTHER = re.compile(
    r"\b(?:this|it|that|which)\s+(?:skill\s+)?(?:will|does|runs|handles)\W*:\W*\Z", re.IGNORECASE
)
_ELSEWHERE = re.compile(
    r"(?:\A|:\**\s)\W*for\b[^§]*(?:,|:\s|\s[—–]\s)[^§]*§|\b(?:if|when(?:ever)?|unless)\b(?!"
    + _LACKING
    + r")[^§]*§|§[^§]*\bonly\s+(?:when|if|for|at|before)\b|§[^§.;]*\bonly[.)*]*\Z"
    r"|\([^()]*\buse\s+(?:the\s+)?§|\((?:via|using)\s+(?:the\s+)?§|\([^()§]*\bper\s+(?:the\s+)?§|\bsee\s+(?:the\s+)?§|\bready\s+for\b[^§]*§|❌|\b(?:suggest|recommend|ask|tell|instruct|advise|offer|propose|remind|prompt|direct|refer|point|send)(?:s|ing|ions?)?\b[^§]*§|→\s*(?:use|run|invoke)\b[^§]*§|§(?:\s+skill)?\s+after\b"
    r"|\((?:(?:which|that|who)\b[^§)]*|delegates?\s+to\s+)§|\bnext\s+steps?\b|§\W*\s+(?:on|in)\s+(?:the\s+)?PATH\b|§\W*\s+(?:is\s+)?installed\b|\brelated\b|§(?:\s+skill)?\s+for\s+(?:the\s+)?(?:full|more|detail|complete|further|additional|deeper)"
    r"|§(?:\s+skill)?\s+for\b[^.;]{0,60}\b(?:guidance|details|background|reference)\b"
    r"|\b(?:use|run)\s+(?:the\s+)?§(?:\s+skill)?\**(?:,[^.]*)?\s+for\b|\binstead\b|\brather\s+than\b|\balternativ|\boptional"
    r"|(?:\bif\s+you\s+(?:need|want|prefer)\b|\b(?:do|does|is|are|will)\s+not\b|\bn['’]t\b|\bdon['’]t\b|\bnever\b"
    r"|\bconsider\b|\bmay\b|\bcan(?:not)?\b)[^§]*§"
    # another skill that uses it, or that uses this one
    r"|\bwhich\s+(?:itself\s+)?(?:composes|orchestrates|delegates|dispatches|requires|invokes|runs|uses)\b[^§]*§"
    r"|\binvokes?\s+this\s+skill\b|\bnot\s+(?:duplicated|repeated|covered)\s+here\b|\A\W*(?:\d+[.)]\s+)?or\b|\bexplicit\s+§"
    # a program of that name
    r"|§\s+(?:CLI|binary|executable|package|library|SDK|API|MCP|server|runtime|runner|daemon|script|version|v?\d|(?:parameter|argument|flag|option|field|property|variable|key|column)s?)\b|§\s*[<>=≥]"
    r"|§-\w|§\s+(?:patterns?|conventions?|guidelines?|style|best\s+practices)\b|§[^§]*\bthe\s+user\s+(?:needs?|wants?|has|asks?|is)\b"
    r"|§[^§]*\b(?:if|unless)\b(?!\s+not\b)(?!" + _LACKING + r")"
    # what comes when this one has done its work, and what is done elsewhere
    r"|\b(?:after|once|when)\s+this\s+(?:skill|command|workflow|agent)\b[^§]*§"
    r"|§(?:\s+skill)?\s+(?:for|to)\b[^§.;]*\b(?:after|once)\b[^§.;]*\b(?:complete|completed|done|finished|finishes|current|ready|merged|approved)\b"
    r"|\b(?:handled|managed|covered|recorded|done|created|generated|produced|installed|configured|available)\s+(?:\w+\s+)?(?:via|using|by|per)\s+(?:the\s+)?§"
    r"|\((?:composes|orchestrates|requires|invokes|runs|uses)\b[^§)]*§"
    r"|\b(?:has|have|had)(?:\s+not|n['’]t)\s+(?:yet\s+)?(?:run|used|invoked|loaded)\s+(?:the\s+)?§"
    r"|\bfeed\b[^§]*\b(?:metrics|learnings?|lessons|insights)\b[^§]*§"
    r"|\bwhether\b[^§]*§|\b(?:usually|normally|typically|generally|enables?|allows?)\b[^§]*§"
    r"|\bonly\s+with\b[^§]*§|§[^§]*\bnot\s+(?:invoked|used|called|run|loaded|needed|required)\b"
    # one of two ways
    r"|§(?:\s+(?:skill|command|workflow))?,?\s+\(?or\b(?!\s+it\b)|\(or\s+(?:\w+\s+){1,2}§|§[^§.;]*\bfor\s+this\s+(?:option|case|mode|path)\b",
    re.IGNORECASE,
)
# One of several options says what to do in one case.
_CHOICE = re.compile(r"\A(?:>\s*)?(?:[-*]\s+)?\**[A-H]\)\s")
_IN_A_CASE = re.compile(
    r"§(?:\s+skill)?(?:\s+(?:first|before\b[^§.;]*?))?\W*\s+(?:when(?:ever)?|where)\b|§[^§.;]*\b(?:when(?:ever)?|where\s+available)\b",
    re.IGNORECASE,
)
# What is said in quotes, or in code of several words, is somebody else's message.
_SAID = re.compile(r"\"[^\"]*\"|“[^”]*”|`[^`]*`")
_CASE_OF_LIST = re.compile(r"\A\s*(?:(?:[-*+]|\d+[.)])\s+\*\*[^*]+\*\*|\*\*`[^`]+`\*\*)\s+[—–-]\s")
_PLAIN_END = (
    r"(?=\s+(?:sub-?)?skills?\b|\s*(?:[.,;)*\"'(—–]|:(?!\w)|$)"
    r"|\s+(?:to|for|with|on|in|at|as|first|before|after|against|and|or|when|if|via|over|from|inline|now|once)\b)"
)
# "Load X for B" may be about another request; in a step it is one.
_FOR = re.compile(
    r"\b(?:load|apply|follow|activate|call|execute|launch)\s+(?:the\s+)?§(?:\s+skill)?\W{0,3}\s+for\b",
    re.IGNORECASE,
)
_STEP = re.compile(
    r"\b(?:steps?|phases?|stages?|procedure|process|workflow|pipeline|sequence|prerequisites?|required|before)\b"
    r"|\A\W*\d+[.:)\s]",
    re.IGNORECASE,
)
_TO_DO = re.compile(r"§\W{0,3}\s+to\s", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Need:
    """One skill that another one needs, and what says so."""

    name: str
    """Canonical."""
    reason: str
    declared: bool


def needs_of(metadata: SkillMetadata, text: str, siblings: Collection[str]) -> tuple[Need, ...]:
    """Return what a skill needs of its siblings and what it declares beside them."""
    declared = {
        canonical_name(name): Need(canonical_name(name), "its header requires it", True)
        for name in metadata.requires.skills
    }
    own = {metadata.canonical_name, *declared}
    others = [name for name in siblings if canonical_name(name) not in own]
    inferred = inferred_needs(text, others, own=metadata.canonical_name)
    return (*declared.values(), *inferred)


def inferred_needs(text: str, siblings: Collection[str], *, own: str = "") -> list[Need]:
    """Return the siblings that the instructions of `own` tell to use in the work, each with the sentence."""
    text = _EXAMPLE.sub("", text[:_MAX_TEXT])
    low = text.lower()
    mentioned = [(sibling, name) for sibling in siblings if (name := sibling.lower()) in low]
    if not mentioned:
        return []
    # Taken apart once: a library of thousands has names that are everyday words.
    paragraphs, calling = list(_paragraphs(text, own)), list(_calling_lines(text))
    found: dict[str, Need] = {}
    for sibling, name in mentioned:
        said = next(_saying(name, paragraphs, calling), None)
        if said is not None:
            canonical = canonical_name(sibling)
            found.setdefault(canonical, Need(canonical, f"“{one_line(said)[:160]}”", False))
    return list(found.values())


def _saying(name: str, paragraphs: list["_Paragraph"], calling: list[str]) -> Iterator[str]:
    """The sentences and lines that make `name` a need."""
    for heading, lead, quote, whole in paragraphs:
        for sentence in _naming(name, whole):
            if _is_need(name, heading, lead, quote + sentence):
                yield quote + sentence
    calls = re.compile(_CALL.format(name=re.escape(name)))
    yield from (line for line in calling if calls.search(line.lower()))


def _calling_lines(text: str) -> Iterator[str]:
    """The lines that may call a skill in the work."""
    before = of = ""
    asked = False
    for heading, line in _lines(text):
        asked, of = (asked and heading == of) or _ASKED.search(line) is not None, heading
        before = f"{before[-300:]}\n{line}".lower()
        # `skill=` is also an argument of functions that call no skill.
        call = "subagent_type" in line or _SKILL_CALL.search("\n".join(before.splitlines()[-3:]))
        if not call or line.startswith("|") or _SEE_CALL.search(line) or _BUILT_IN_AGENTS.search(line):
            continue
        if asked and _STARTS_ITEM.match(line):  # a list of what the user may choose
            continue
        if not (_NOT_ITS_WORK.search(heading) or _ADVICE.search(heading) or _ADVICE.search(line)):
            yield line


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Headings and line of all that is not the header; blocks of code may be templates with headings."""
    heading, inner, fenced, header = "", "", False, text.startswith("---")
    for number, line in enumerate(text.splitlines()):
        if header:
            header = number == 0 or line.rstrip() != "---"
            continue
        fenced ^= _FENCE.match(line) is not None
        match = _HEADING.match(line)
        if match and fenced:
            inner = match[1]
        elif match:
            heading, inner = match[1], ""
        yield f"{heading} / {inner}", line


class _Paragraph(NamedTuple):
    heading: str
    lead: str
    """The lines before the lists that it is in."""
    quote: str
    whole: str


def _paragraphs(text: str, own: str) -> Iterator[_Paragraph]:
    """What may order something.

    Code, the header and chapters that order nothing are left out.
    """
    heading, fence, header = "", "", text.startswith("---")
    chapters: list[tuple[int, str]] = []
    leads: list[tuple[int, str]] = []
    # A list that orders this skill too ("1. Use A to draw. 2. Use B to post.") is seen from outside.
    itself = re.compile(rf"\b{_VERB}\s+(?:the\s+)?[`*/@]+{re.escape(own)}\b", re.IGNORECASE) if own else None
    from_outside = False
    paragraph: list[str] = []
    for number, line in enumerate((*text.splitlines(), "")):
        if header:
            header = number == 0 or line.rstrip() != "---"
            continue
        mark = _FENCE.match(line)
        # A block ends with as many marks as it began with and nothing after them: it may show another block.
        marks = mark[1] if mark and (not fence or (mark[1].startswith(fence) and not mark[2].strip())) else ""
        match = None if fence else _HEADING.match(line)
        if marks or match or not line.strip() or _STARTS_ITEM.match(line):
            if paragraph:
                whole = " ".join(part.strip() for part in paragraph)
                first = paragraph[0]
                indent = len(first) - len(first.lstrip()) if _STARTS_ITEM.match(first) else -1
                leads = [(outer, text) for outer, text in leads if outer < indent]
                lead = " ".join(text for _, text in leads)
                quote = "> " if whole.startswith(">") else ""
                other = any(_OTHER_CHAPTER.search(title) for level, title in chapters[:-1] if level > 1)
                item = indent >= 0
                from_outside = item and (
                    from_outside or (itself is not None and itself.search(whole) is not None)
                )
                if not other and not from_outside and not (quote and leads):  # words for the user
                    yield _Paragraph(heading, lead, quote, whole)
                end = whole.rstrip("*_ ")[-1:]
                if end in ":?":  # what follows a question is for those who say yes
                    leads.append((indent, "when" if end == "?" else f"{whole[:60]} {whole[-80:]}"))
            paragraph = []
        fence = ("" if fence else marks) if marks else fence
        if match:
            heading, leads = match[1], []
            level = len(line) - len(line.lstrip("#"))
            chapters = [*(each for each in chapters if each[0] < level), (level, heading)]
        elif not fence and not marks and line.strip():
            paragraph.append(line)


def _naming(name: str, paragraph: str) -> Iterator[str]:
    if name not in paragraph.lower() or paragraph.startswith("|"):  # a row says what to do in one case
        return
    before = ""
    in_a_case = _CASE_OF_LIST.match(paragraph)
    sentences = _SENTENCE_END.split(_SAID.sub(_without_words, paragraph))
    for sentence, after in zip(sentences, [*sentences[1:], ""], strict=True):
        # "Is the idea not clear yet? Use X." and "- **No idea** — it is open. Use X." are for another case.
        other = before.endswith("?") or (in_a_case and before) or _CASE_OF_USER.search(before)
        other = other or _OPTIONAL.search(before)
        in_a_case = in_a_case or _NOT_FOR.search(sentence)
        other = other or (_HANDED_ON.search(sentence) and _TOLD.search(after))
        if name in sentence.lower() and len(sentence) <= _LONGEST_SENTENCE and not other:
            yield sentence
        before = sentence.rstrip("\"'”’)* ")


def _without_words(said: re.Match[str]) -> str:
    return f"{said[0][0]}…{said[0][-1]}" if " " in said[0] else said[0]


def _is_need(name: str, heading: str, lead: str, sentence: str) -> bool:
    marked = _with_mention(name, sentence)
    if marked is None or _ELSEWHERE.search(marked) or _is_for_user(name, sentence, marked):
        return False
    item = _ITEM.sub("", marked, count=1)
    if _NEEDED_HEADING.search(heading):
        return item.startswith("§") and not _AT_WILL.search(lead)
    if _IN_A_CASE.search(marked):
        return False
    label = _LABEL.match(marked)
    if any(_OTHER_HEADING.search(said) for said in (heading, lead, label[1] if label else "")):
        return False
    if _ADVICE.search(heading) or _ADVICE.search(lead) or _CASE_OF_LEAD.search(lead):
        return False
    if _OF_ANOTHER.search(lead):
        return False
    if _FOR.search(marked) and not _STEP.search(f"{heading}\n{lead}"):
        return False
    orders: tuple[re.Pattern[str], ...] = (_REQUIRED, _PARTS, _SUB_SKILLS)
    if not sentence.startswith(">"):  # a note that is set apart may say what is required, and orders nothing
        orders += (_IF_NOT_YET,)
        if _DO.match(item):
            return True
    return any(rule.search(marked) for rule in orders)


def _is_for_user(name: str, sentence: str, marked: str) -> bool:
    """Whether a sentence is one of several options, or what the user is to be told."""
    if _CHOICE.match(sentence) or sentence.count('"') % 2 or "“" in sentence:
        return True
    command = re.search(rf"(?<![\w.])/(?:[\w-]+:)*{re.escape(name)}\b", sentence, re.IGNORECASE)
    return command is not None and _TO_DO.search(marked) is not None


def _with_mention(name: str, sentence: str) -> str | None:
    """The sentence with `§` for the mention; None when the words may mean something else."""
    marked = re.compile(_MARKED.format(name=re.escape(name)), re.IGNORECASE)
    program = _PERHAPS_PROGRAM.format(name=re.escape(name))
    if "-" not in name and re.search(program, sentence, re.IGNORECASE):
        return None
    if marked.search(sentence):
        return marked.sub("§", sentence.replace("§", " "))
    if "-" not in name:
        return None
    sentence = _CODE.sub("` `", sentence)  # what is beside other words in code is a command, not a skill
    plain = re.compile(_PLAIN.format(name=re.escape(name)) + _PLAIN_END, re.IGNORECASE)
    return plain.sub("§", sentence.replace("§", " ")) if plain.search(sentence) else None
