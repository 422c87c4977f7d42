"""Greetings in many languages, as tools of the agent."""

from skillkit.toolsets import AgentToolset

GREETINGS = {
    "ar": ("Arabic", "مرحبا، {name}!"),
    "de": ("German", "Hallo, {name}!"),
    "el": ("Greek", "Γεια σου, {name}!"),
    "en": ("English", "Hello, {name}!"),
    "es": ("Spanish", "¡Hola, {name}!"),
    "fr": ("French", "Bonjour, {name} !"),
    "hi": ("Hindi", "नमस्ते, {name}!"),
    "it": ("Italian", "Ciao, {name}!"),
    "ja": ("Japanese", "こんにちは、{name}さん!"),
    "ko": ("Korean", "안녕하세요, {name}님!"),
    "nl": ("Dutch", "Hallo, {name}!"),
    "pt": ("Portuguese", "Olá, {name}!"),
    "sw": ("Swahili", "Habari, {name}!"),
    "zh": ("Chinese", "你好，{name}！"),
}
CODES = {language.casefold(): code for code, (language, _) in GREETINGS.items()}
MOST_NAMES = 100
NO_NAMES = {"", "me", "myself", "us"}
"""What stands for somebody whose name is not known."""

Answer = dict[str, object]


class HelloExtended(AgentToolset):
    """Greets in many languages."""

    def greet_in_language(self, name: str, language: str = "en") -> Answer:
        """Greet one person.

        Args:
            name: Who is greeted.
            language: A code such as es, or an English name such as Spanish.
        """
        code = _code(language)
        if code is None:
            return _unknown(language)
        return _greeted([_greeting(name, code)], f"Greeted {name} in {GREETINGS[code][0]}", one=True)

    def greet_multiple(self, names: list[str], language: str = "en") -> Answer:
        """Greet several people.

        Args:
            names: Who is greeted, in this order.
            language: As for greet_in_language, or mixed for a different one each.
        """
        if not 0 < len(names) <= MOST_NAMES:
            return _failed("invalid_names", f"Give 1 to {MOST_NAMES} names, not {len(names)}")
        if language.strip().casefold() == "mixed":
            order = list(GREETINGS)
            greetings = [_greeting(name, order[place % len(order)]) for place, name in enumerate(names)]
            return _greeted(greetings, f"Greeted {len(names)} people in mixed languages")
        code = _code(language)
        if code is None:
            return _unknown(language)
        greetings = [_greeting(name, code) for name in names]
        return _greeted(greetings, f"Greeted {len(names)} people in {GREETINGS[code][0]}")

    def list_languages(self) -> Answer:
        """The languages that can be greeted in, by code."""
        languages = {code: language for code, (language, _) in GREETINGS.items()}
        return {"success": True, "result": languages, "message": f"{len(languages)} languages"}


def _code(language: str) -> str | None:
    """The code of a language that was given as `es`, `es-MX`, `ES` or `Spanish`."""
    wanted = language.strip().casefold()
    if wanted in CODES:
        return CODES[wanted]
    code = wanted.replace("_", "-").partition("-")[0]
    return code if code in GREETINGS else None


def _greeting(name: str, code: str) -> str:
    # Not str.format: a name such as "{0.__class__}" is a name.
    known = name.strip().casefold() not in NO_NAMES
    return GREETINGS[code][1].replace("{name}", name.strip() if known else "friend")


def _greeted(greetings: list[str], message: str, *, one: bool = False) -> Answer:
    return {"success": True, "result": greetings[0] if one else greetings, "message": message}


def _unknown(language: str) -> Answer:
    return _failed("unknown_language", f"No greeting in {language!r}; there are {', '.join(GREETINGS)}")


def _failed(error: str, message: str) -> Answer:
    return {"success": False, "error": error, "message": message}
