"""Arithmetic in figures and in words, computed: a small model guesses it."""

import math
import re
from decimal import Decimal
from fractions import Fraction

_UNITS = dict(
    zip(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen".split(),
        range(20),
        strict=True,
    )
)
_TENS = {
    word: 10 * place
    for place, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_PARTS = {"half": 2, "halves": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "eighth": 8, "tenth": 10}
_PLUS, _TIMES, _POWER = 1, 2, 3
_OPERATORS = {
    "+": ("+", _PLUS), "plus": ("+", _PLUS), "add": ("+", _PLUS), "-": ("-", _PLUS), "−": ("-", _PLUS),
    "minus": ("-", _PLUS), "less": ("-", _PLUS), "subtract": ("-", _PLUS), "*": ("*", _TIMES),
    "x": ("*", _TIMES),
    "×": ("*", _TIMES), "times": ("*", _TIMES), "of": ("*", _TIMES), "/": ("/", _TIMES), "÷": ("/", _TIMES),
    "over": ("/", _TIMES), "^": ("^", _POWER), "**": ("^", _POWER),
}  # fmt: skip
_PHRASES = {
    r"\bmultiplied by\b|\bmultiply by\b": "times", r"\bdivided by\b|\bdivide by\b": "/",
    r"\bto the power of\b|\braised to(?: the power of)?\b": "^", r"\bsquared\b": "^ 2", r"\bcubed\b": "^ 3",
    r"\b(?:the )?square root of\b": "√", r"\btake away\b": "minus", r"\bper ?cent\b": "%",
    r"\bdouble\b": "2 times", r"\btwice\b": "2 times", r"\ba dozen\b|\bdozen\b": "12",
}  # fmt: skip
_TOLD = {
    r"^add (.+?) (?:and|to) (.+)$": r"(\1) plus (\2)", r"^(?:the )?sum of (.+?) and (.+)$": r"(\1) plus (\2)",
    r"^multiply (.+?) (?:by|and|with) (.+)$": r"(\1) times (\2)", r"^divide (.+?) by (.+)$": r"(\1) / (\2)",
    r"^subtract (.+?) from (.+)$": r"(\2) minus (\1)",
}  # fmt: skip
_ASKED = re.compile(
    r"^(?:(?:please|hey|hi|ok(?:ay)?|so|and|quick(?: question)?|can you|could you|tell me|just)[,:]? )*"
    r"(?:(?:what|how much)(?:['’]?s| is| are| does| do)|calculate|compute|work out|solve|evaluate)?"
    r"(?: the (?:result|value) of)?\s+"
)
_END = re.compile(
    r"\s*(?:(?:equal(?:s)?(?: to)?|make(?:s)?|=|come to|please|pls|thanks|right now)\s*)*[?.! ]*$"
)
_TOKEN = re.compile(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\*\*|[-+*/^×÷−()%√]|[^\W\d_]+")
_WRITTEN = re.compile(r"\d+(?:-\d+)+|\d+(?:[./-]\d+){2,}")
"""A date or a telephone number, where nobody asks what it comes to."""
_QUANTITIES: dict[str, tuple[int | str, str]] = {
    "second": (1, "time"), "sec": (1, "time"), "minute": (60, "time"), "min": (60, "time"),
    "hour": (3_600, "time"), "day": (86_400, "time"), "week": (604_800, "time"),
    "millimetre": ("0.001", "length"), "mm": ("0.001", "length"), "centimetre": ("0.01", "length"),
    "cm": ("0.01", "length"), "metre": (1, "length"), "m": (1, "length"), "kilometre": (1_000, "length"),
    "km": (1_000, "length"), "inch": ("0.0254", "length"), "foot": ("0.3048", "length"),
    "feet": ("0.3048", "length"), "yard": ("0.9144", "length"), "mile": ("1609.344", "length"),
    "gram": (1, "mass"), "g": (1, "mass"), "kilogram": (1_000, "mass"), "kilo": (1_000, "mass"),
    "kg": (1_000, "mass"), "ounce": ("28.349523125", "mass"), "pound": ("453.59237", "mass"),
}  # fmt: skip
_HOW_MANY = re.compile(
    r"^(?:.*\b)?how many ([a-z]+) (?:are |is |do |does )?(?:there )?(?:in|make up|make) "
    r"(.+?) ([a-z]+)(?: have)?$"
)
_CONVERT = re.compile(
    r"^(?:.*\b)?(?:convert|turn|change|what(?:['’]?s| is| are)|how much (?:is|are)) "
    r"(.+?) ([a-z]+) (?:in|to|into) ([a-z]+)$"
)


def computed(request: str) -> str | None:
    """Return the result of a request that is arithmetic and nothing else; None for any other."""
    text = _END.sub("", " ".join(request.casefold().split()))
    asked = _ASKED.sub("", text, count=1)
    if asked == text and _WRITTEN.fullmatch(text):
        return None
    try:
        return _converted(text) or _evaluated(asked)
    except (ValueError, ZeroDivisionError, OverflowError, IndexError):
        return None


def _converted(text: str) -> str | None:
    if found := _HOW_MANY.match(text):
        wanted, amount, given = found.groups()
    elif found := _CONVERT.match(text):
        amount, given, wanted = found.groups()
    else:
        return None
    into, of = _quantity(wanted), _quantity(given)
    number = _number(amount)
    if into is None or of is None or into[1] != of[1] or number is None:
        return None
    return f"{_shown(number * of[0] / into[0])} {wanted}"


def _quantity(word: str) -> tuple[Fraction, str] | None:
    bare = word.replace("meter", "metre")
    found = (
        _QUANTITIES.get(bare)
        or _QUANTITIES.get(bare.removesuffix("s"))
        or _QUANTITIES.get(bare.removesuffix("es"))
    )
    return (Fraction(found[0]), found[1]) if found else None


def _number(text: str) -> Fraction | None:
    tokens = _TOKEN.findall(text)
    value, used = _read_number(tokens, 0)
    return value if value is not None and used == len(tokens) else None


def _evaluated(text: str) -> str | None:
    for phrase, plain in (*_TOLD.items(), *_PHRASES.items()):
        text = re.sub(phrase, plain, text)
    steps = [
        step
        for step in re.split(r",?\s*\b(?:and )?then\b\s*|,(?=\s*(?:plus|minus|times|add|subtract)\b)", text)
        if step.strip()
    ]
    result: Fraction | None = None
    operations = 0
    for step in steps:
        if _TOKEN.sub("", step).strip():
            return None
        reader = _Reader(_TOKEN.findall(step), result)
        result = reader.read()
        operations += reader.operations
    return _shown(result) if result is not None and operations else None


class _Reader:
    """Reads one step of a calculation; one that begins with an operator goes on from the result before it."""

    def __init__(self, tokens: list[str], before: Fraction | None) -> None:
        self.tokens = tokens
        self.place = 0
        self.operations = 0
        self._before = before if tokens and tokens[0] in _OPERATORS else None

    def read(self) -> Fraction:
        value = self._operation(_PLUS)
        if self.place != len(self.tokens):
            raise ValueError(f"not arithmetic: {self.tokens[self.place]}")
        return value

    def _operation(self, level: int) -> Fraction:
        value = self._operand() if level == _POWER else self._operation(level + 1)
        while (found := _OPERATORS.get(self._next())) is not None and found[1] == level:
            self.place += 1
            self.operations += 1
            value = _apply(
                found[0], value, self._operand() if level == _POWER else self._operation(level + 1)
            )
        return value

    def _operand(self) -> Fraction:
        if self._before is not None:
            value, self._before = self._before, None
            return value
        token = self._next()
        if token == "-":
            self.place += 1
            return -self._operand()
        if token == "√":
            self.place += 1
            self.operations += 1
            return _root(self._operand())
        if token == "(":
            self.place += 1
            value = self._operation(_PLUS)
            if self._next() != ")":
                raise ValueError("a bracket is open")
            self.place += 1
            return value
        number, self.place = _read_number(self.tokens, self.place)
        if number is None:
            raise ValueError(f"not a number: {token}")
        if self._next() == "%":
            self.place += 1
            number /= 100
        return number

    def _next(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""


def _read_number(tokens: list[str], place: int) -> tuple[Fraction | None, int]:
    """Return a number in figures or words and the place after it: 12.5, twenty-five, three and a half."""
    whole: Fraction | None = None
    words = Fraction(0)
    total = Fraction(0)
    begun = place
    while place < len(tokens):
        token = tokens[place]
        if token[0].isdigit():
            if place != begun:
                break
            words, whole = Fraction(token.replace(",", "")), Fraction(1)
        elif token in ("a", "an") and place == begun and place + 1 < len(tokens):
            if tokens[place + 1] not in _SCALES and tokens[place + 1] not in _PARTS:
                break
            words, whole = Fraction(1), Fraction(1)
        elif token in _UNITS or token in _TENS:
            words, whole = words + _UNITS.get(token, _TENS.get(token, 0)), Fraction(1)
        elif token in _SCALES:
            words = max(words, Fraction(1)) * _SCALES[token]
            if _SCALES[token] > 100:
                total, words = total + words, Fraction(0)
            whole = Fraction(1)
        elif (part := _PARTS.get(token) or _PARTS.get(token.removesuffix("s"))) is not None:
            words, whole = max(words, Fraction(1)) / part, Fraction(1)
        elif (
            token == "and" and whole is not None and (rest := _read_number(tokens, place + 1))[0] is not None
        ):
            joined = rest[0] < 1 or total or words % 100 == 0
            return (total + words + rest[0], rest[1]) if joined else (total + words, place)
        elif token == "-" and place > begun and tokens[place - 1] in _TENS and tokens[place + 1] in _UNITS:
            pass  # twenty-five
        else:
            break
        place += 1
    return (None, begun) if whole is None else (total + words, place)


def _apply(operator: str, left: Fraction, right: Fraction) -> Fraction:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return left / right
        case _:
            if right.denominator != 1 or abs(right) > 64 or abs(left) > 10**12:
                raise ValueError("too large a power")
            return Fraction(left ** int(right))


def _root(value: Fraction) -> Fraction:
    exact = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
    return exact if exact * exact == value else Fraction(math.sqrt(value))


def _shown(value: Fraction) -> str:
    if value.denominator == 1:
        return str(value.numerator)
    rounded = round(Decimal(value.numerator) / Decimal(value.denominator), 4)
    exact = Fraction(rounded) == value
    return f"{'' if exact else 'about '}{rounded.normalize():f}"
