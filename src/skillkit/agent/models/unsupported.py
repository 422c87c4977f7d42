"""What a model without a tool must not say: facts that change from day to day, and things it has done.

In other languages than English only requests are recognised, by the words that most of them have.
"""

import re


def _any(*patterns: str) -> str:
    return f"(?:{'|'.join(patterns)})"


def _compiled(*patterns: str) -> re.Pattern[str]:
    return re.compile(_any(*patterns), re.IGNORECASE)


_POLITE = (
    r"(?:(?:please|kindly|can you|could you|would you|will you|i (?:want|need) you to|i['’]d like you to"
    r"|now|then|and|go|just|hey|ok(?:ay)?),? )*"
)
_ACTION = _any(
    r"(?:send|e-?mail|text|message|forward)\b.*\b(?:e-?mails?|mail|sms|messages?|files?|money|to|him|her|them)",
    r"(?:call|phone|ring)\b.*\b(?:taxi|cab|mum|mom|dad|boss|doctor|wife|husband|office|me at)",
    r"(?:text|message|call|phone|ring|e-?mail) my",
    r"(?:buy|purchase|sell)|(?:place|make) (?:an? |my |the )?(?:bet|order|wager|reservation|payment)",
    r"order (?:me|us|a|an|some|one|two|three)",
    r"(?:book|reserve) (?:me|us|a|an|the|two|my)",
    r"(?:delete|remove|erase|rename|move|copy|upload|download|save|back up|open|print)\b.*"
    r"\b(?:files?|folders?|director(?:y|ies)|desktop|disk|documents?|photos?|accounts?|printer|e-?mails?|inbox)",
    r"(?:turn|switch)\b.*\b(?:on|off|up|down)\b",
    r"(?:play|pause|stop)\b.*\b(?:music|songs?|playlist|radio|album|video|podcast)",
    r"(?:set|create|start|cancel|stop)\b.*\b(?:alarms?|timers?|reminders?|meetings?|appointments?)",
    r"(?:remind|wake|notify|alert) (?:me|us|you)",
    r"(?:schedule|reschedule|cancel)",
    r"(?:pay|transfer|withdraw)\b.*\b(?:bills?|rent|money|invoices?|dollars|euros?)",
    r"(?:lock|unlock|open|close)\b.*\b(?:doors?|garage|windows?|blinds|curtains|car)",
    r"(?:post|publish|tweet|share)\b.*\b(?:on|to)\b",
    r"(?:install|uninstall|restart|reboot|shut down)",
    r"(?:put|add)\b.*\b(?:calendar|shopping list|to-?do list|cart)",
)
"""What is asked of somebody who can act in the world: a verb, and if it has other uses what it is done to."""
_ACTION_REQUEST = _compiled(rf"^{_POLITE}{_ACTION}\b")
_THINGS = (
    r"e-?mails?|messages?|files?|folders?|reminders?|alarms?|timers?|meetings?|tables?|tickets?|orders?|music"
)
_TEXT_FOLLOWS = r"^[^:.?!]{0,60}\b(?:this|that|the following|text|sentence|paragraph)\b[^:.?!]{0,40}:\s"
_GIVEN_TEXT = _compiled(
    _TEXT_FOLLOWS, r"^(?:summari[sz]e|shorten|translate|rephrase|rewrite|proofread|correct)\b[^:.?!]{0,40}:\s"
)
_WRITING = _compiled(
    r"\b(?:write|draft|compose|translate|rewrite|rephrase|summari[sz]e|correct|proofread)\b",
    r"\b(?:poem|haiku|story|joke|song about|sentence|essay|example)\b",
    r"\b(?:function|code|regex|command|script|in python|in bash)\b",
    r"\b(?:how (?:do|can|would|should) (?:i|you|we|one)|how to|what does|explain|define|meaning)\b",
    r"\bwhat(?:['’]s| is| are) (?:an? )?\w+\W*$",
    _TEXT_FOLLOWS,
)
"""Work on words and their meaning, which a model does itself."""
_QUESTION = _compiled(
    r"^(?:(?:so|and|but|please|hey|hi|hello|tell me),? )*(?:what|who|whose|which|when|where|why|how)\b",
    r"\?\W*$",
)
_LIVE_THING = _any(
    r"weather|forecast|temperature|headlines?|news|scores?|standings|traffic|air quality",
    r"exchange rate|stock price|share price|prices?|trading at|bitcoin|ethereum",
    r"unread|inbox|appointments?",
)
_NOW = _any(
    r"right now|now|at the moment|currently|current|today|today['’]s|tonight|tomorrow|yesterday|latest",
    r"this (?:morning|afternoon|evening|week|weekend)|last night|live|so far",
    r"this (?:very )?(?:second|minute|moment|instant)",
)
_LIVE_REQUEST = _compiled(
    r"\b(?:weather|forecast|headlines|traffic|inbox)\b",
    rf"\b{_LIVE_THING}\b.*\b{_NOW}\b",
    rf"\b{_NOW}\b.*\b{_LIVE_THING}\b",
    r"\bwhat(?:['’]s| is) the (?:temperature|score|exchange rate|news|date)\b",
    r"\b(?:stock|share) prices?\b",
    r"\bhow much (?:is|are|does) .*\b(?:stocks?|shares?)\b",
    r"\b(?:price of|how much is) (?:an? |one |the )?(?:bitcoin|ethereum|gold|oil|silver|euro|dollar|pound)\b",
    r"\bwhat(?:['’]s| is| are) the (?:bitcoin|ethereum|gold|oil|silver|gas|stock|share) prices?\b",
    r"\bwhat(?:['’]s| is)(?: the)?(?: current)? time\b|\bwhat (?:time|day) is it\b",
    r"\b(?:today['’]s|current) date\b",
    r"\bwho(?: won| is winning|['’]s winning)\b.*\b(?:last night|yesterday|today|now)\b",
    r"\bwill it (?:rain|snow|be (?:sunny|cold|hot|warm))\b|\bis it (?:raining|snowing)\b",
    r"\bwhat happened (?:today|yesterday|last night|this week)\b",
)
_LIVE_ELSEWHERE = _compiled(
    r"\b(?:wie (?:ist|wird)|quel(?:le)?s? (?:est|temps)|qué tiempo|c[oó]mo está|com['’]è|che tempo|hoe is)\b"
    r".*\b(?:wetter|temps|météo|tiempo|clima|tempo|weer)\b",
    r"\b(?:wetter|météo|pronóstico|previsioni|weerbericht)\b.*\b(?:heute|morgen|jetzt|aujourd['’]hui|demain|hoy"
    r"|mañana|oggi|domani|hoje|amanhã|vandaag)\b",
    r"\b(?:quel temps fait|qué tiempo hace|che tempo fa|wie spät ist|quelle heure est|qué hora es)\b",
    r"\b(?:aktienkurs|börsenkurs|wechselkurs|cours de (?:l['’]action|la bourse)|cotización)\b",
    r"\b(?:preis|kurs|prix|cours|precio|prezzo|preço)\b.*\b(?:bitcoin|gold|öl|or|oro|petróleo|aktie|action)\b",
    r"\b(?:nachrichten|schlagzeilen|actualités|noticias|notizie)\b.*\b(?:heute|du jour|de hoy|di oggi)\b",
)
_FUTURE_ELSEWHERE = _compiled(
    r"\b(?:wie (?:hoch|groß|stehen|gross|wahrscheinlich)|chancen? (?:auf|dass|für)|wer (?:wird|gewinnt))\b"
    r".*\b(?:chancen?|wahrscheinlich\w*|gewinn\w*|dass)\b",
    r"\b(?:quelles?|quels?)\b.*\b(?:chances?|probabilités?|cotes?)\b|\bqui va gagner\b",
    r"\b(?:cuál|cuáles|qué|qual|quais|quali|che)\b.*\b(?:probabilidad\w*|posibilidad\w*|probabilit[àa]|chances?"
    r"|possibilità)\b|\bquién (?:va a ganar|ganará)\b|\bchi vincerà\b",
)
_FUTURE_REQUEST = _compiled(
    r"\b(?:odds|chances?|likelihood|probability) (?:of|that|for)\b",
    r"\bhow (?:likely|probable)\b",
    r"\bwho (?:will|is going to) win\b|\bfavou?rite to win\b",
)
_GAME_OF_CHANCE = _compiled(
    r"\b(?:dice|coin (?:toss|flip)\w*|deck|marbles?|birthdays?|at random|roulette|full house|royal flush)\b",
    r"\b(?:an?|one|two|three|fair|six-sided) (?:die|coins?)\b|\b(?:two|three|four|five) (?:heads|tails)\b",
    r"\b(?:roll|throw)(?:ing|s)? (?:an? |two |the )?(?:one|two|three|four|five|six|double|sum|total|\d)\w*\b",
    r"\bdraw(?:ing)? (?:an?|the|two|three) (?:card|ace|king|queen|jack|heart|spade|red|black)\w*\b",
    r"\b(?:getting|get) (?:heads|tails)\b",
)
"""Where a probability can be computed."""
_DONE = _any(
    "sent|e-?mailed|texted|called|bought|sold|ordered|booked|reserved|paid|transferred|deleted|removed|erased",
    "saved|stored|moved|renamed|copied|downloaded|uploaded|installed|opened|closed|printed|posted|published",
    "shared|played|turned|switched|set|reminded|scheduled|cancell?ed|restarted|locked|unlocked|invited|started",
    "stopped|created|added",
)
_CLAIM = _compiled(
    rf"\b(?:I|we)(?:['’]ve| have| just| already| successfully)* {_DONE}\b",
    rf"\b(?:your|{_THINGS})\b[^.]*\b(?:has|have) (?:now |already )?been (?:successfully )?{_DONE}\b",
    rf"\b(?:{_THINGS}) (?:successfully )?{_DONE}\b",
    rf"\bI(?:['’]ll| will|['’]m going to| am going to) {_ACTION}\b",
    rf"\b{_LIVE_THING}\b[^.]*\b(?:is|are|was)\b[^.]*\b{_NOW}\b",
    r"\b(?:is|are) (?:currently|right now)\b[^.]*\d",
    r"\b(?:weather|forecast)\b[^.]*\b(?:is|are|will be)\b|^it is (?:currently|now)\b",
)
_OF_OWN_SKILLS = _compiled(
    r"\b(?:I|we)\b(?:['’]ve)?[^.]*\b(?:have|got|know|offer|possess|support)\b[^.]*\bskills\b",
    r"\b(?:my|following|available|loaded|installed|enabled) skills\b",
    r"\bskills\b[^.]*\b(?:loaded|available|installed|enabled)\b",
)
"""A sentence that says which skills there are."""
_MAY_CLAIM = _compiled(rf"\b(?:I|we|it|sure|done|the|your|my|skills|{_THINGS}|{_LIVE_THING})\b")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
MANY_WORDS = 40
"""A request longer than this brings along what it asks about."""

NOT_KNOWN = "I cannot look that up: I have no tool for it, and what I know may be out of date."
NOT_DONE = "I cannot do that: I have no tool for it."


def refusal(request: str, said_before: str = "") -> str | None:
    """Return the honest answer to a request that cannot be met without a tool; None for any other.

    What was said before is no live fact: `said_before` may have the answer.
    """
    if len(request.split()) > MANY_WORDS or _WRITING.search(request):
        return None
    if _ACTION_REQUEST.search(request):
        return NOT_DONE
    live = _LIVE_REQUEST.search(request) or _LIVE_ELSEWHERE.search(request)
    if live is None and not _GAME_OF_CHANCE.search(request):
        live = _FUTURE_REQUEST.search(request) or _FUTURE_ELSEWHERE.search(request)
    things = re.findall(rf"\b{_LIVE_THING}\b", request, re.IGNORECASE)
    if live is None or any(thing.casefold() in said_before.casefold() for thing in things):
        return None
    return NOT_KNOWN


def is_computable(request: str) -> bool:
    """Return whether a request is for a probability that follows from the rules of a game."""
    return _GAME_OF_CHANCE.search(request) is not None and _FUTURE_REQUEST.search(request) is not None


def is_about_given_text(request: str) -> bool:
    """Return whether a request brings along the text that it is about, as in `shorten this: …`."""
    return _GIVEN_TEXT.search(request) is not None


def needs_only_words(request: str) -> bool:
    """Return whether a request is a question or asks for work on words: a model can try to answer it."""
    return _WRITING.search(request) is not None or _QUESTION.search(request) is not None


class ClaimFilter:
    """An answer as it is written, without sentences that claim what no tool has shown.

    The beginning of a sentence is held back until it is clear whether the sentence can be a claim.
    """

    def __init__(self, request: str, of_skills: str = "") -> None:
        self._of_skills = of_skills
        """What is true of the skills; it takes the place of a sentence that tells which there are."""
        self._instead = NOT_DONE
        self._held = ""
        self._passing = bool(_WRITING.search(request)) or len(request.split()) > MANY_WORDS
        self._shown = ""
        self.stopped = False
        """Whether a claim was found; nothing more is let through."""

    def feed(self, text: str) -> str:
        """Return what of the answer may be shown now."""
        self._held += text
        free = ""
        while not self.stopped and (end := _SENTENCE_END.search(self._held)) is not None:
            sentence, self._held = self._held[: end.end()], self._held[end.end() :]
            free += self._checked(sentence)
        if self.stopped:
            return self._show(free)
        words = self._held.rpartition(" ")[0]  # the last one may not be whole
        if self._passing or (len(words.split()) > 1 and not _MAY_CLAIM.search(words)):
            free += self._held
            self._held = ""
        return self._show(free)

    def finish(self) -> str:
        """Return the rest of the answer, or the honest one in its place."""
        rest = "" if self.stopped else self._checked(self._held)
        self._held = ""
        if self.stopped:
            rest += ("\n\n" if self._shown.strip() else "") + self._instead
        return rest

    def _checked(self, sentence: str) -> str:
        if self._passing:
            return sentence
        if self._of_skills and _OF_OWN_SKILLS.search(sentence):
            self.stopped, self._instead = True, self._of_skills
            return ""
        if _CLAIM.search(sentence):
            self.stopped = True
            return ""
        return sentence

    def _show(self, text: str) -> str:
        self._shown += text
        return text
