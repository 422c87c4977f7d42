# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Greet people by name, language, style and time of day."""

import argparse
import io
import json
import sys
from datetime import datetime, time
from typing import NoReturn

# code: (language, morning, afternoon, evening); {name} is who is greeted.
GREETINGS = {
    "ar": ("Arabic", "صباح الخير، {name}", "نهارك سعيد، {name}", "مساء الخير، {name}"),
    "de": ("German", "Guten Morgen, {name}", "Guten Tag, {name}", "Guten Abend, {name}"),
    "el": ("Greek", "Καλημέρα, {name}", "Καλό απόγευμα, {name}", "Καλησπέρα, {name}"),
    "en": ("English", "Good morning, {name}", "Good afternoon, {name}", "Good evening, {name}"),
    "es": ("Spanish", "Buenos días, {name}", "Buenas tardes, {name}", "Buenas noches, {name}"),
    "fr": ("French", "Bonjour, {name}", "Bon après-midi, {name}", "Bonsoir, {name}"),
    "hi": ("Hindi", "सुप्रभात, {name}", "नमस्कार, {name}", "शुभ संध्या, {name}"),
    "it": ("Italian", "Buongiorno, {name}", "Buon pomeriggio, {name}", "Buonasera, {name}"),
    "ja": ("Japanese", "おはようございます、{name}さん", "こんにちは、{name}さん", "こんばんは、{name}さん"),
    "ko": ("Korean", "좋은 아침입니다, {name}님", "안녕하세요, {name}님", "좋은 저녁입니다, {name}님"),
    "nl": ("Dutch", "Goedemorgen, {name}", "Goedemiddag, {name}", "Goedenavond, {name}"),
    "pt": ("Portuguese", "Bom dia, {name}", "Boa tarde, {name}", "Boa noite, {name}"),
    "sw": ("Swahili", "Habari za asubuhi, {name}", "Habari za mchana, {name}", "Habari za jioni, {name}"),
    "zh": ("Chinese", "早上好，{name}", "下午好，{name}", "晚上好，{name}"),
}
PARTS = ("morning", "afternoon", "evening")
STYLES = {"plain": "{}", "calm": "{}.", "excited": "{}!"}
FRAMES = {"text": "{}", "markdown": "- **{}**", "banner": "*** {} ***"}


class Parser(argparse.ArgumentParser):
    """With --json a mistake in the arguments is told as JSON, too."""

    def error(self, message: str) -> NoReturn:
        if "--json" in sys.argv:
            print(json.dumps({"error": {"code": "usage", "message": message}}))
        super().error(message)


def clock(text: str) -> time:
    try:
        return time.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 19:30") from None


def language_code(text: str) -> str:
    wanted = text.strip().casefold()
    by_name = {language.casefold(): code for code, (language, *_) in GREETINGS.items()}
    code = by_name.get(wanted, wanted)
    if code not in GREETINGS:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(GREETINGS)}")
    return code


def part_of_day(now: time) -> str:
    if time(4) <= now < time(12):
        return "morning"
    return "afternoon" if time(12) <= now < time(18) else "evening"


def greeting(name: str, code: str, part: str, style: str) -> str:
    words = GREETINGS[code][1 + PARTS.index(part)].replace("{name}", name.strip() or "friend")
    return STYLES[style].format(words)


def arguments() -> argparse.Namespace:
    parser = Parser(
        prog="advanced_greeting",
        description=__doc__,
        epilog="Example: advanced_greeting --name Ada --name Alan --language fr --time 19:30 --json",
    )
    parser.add_argument("--name", action="append", help="who is greeted; repeat for more (default: World)")
    parser.add_argument(
        "--language", type=language_code, default="en", help="code or English name (default: en)"
    )
    parser.add_argument("--title", default="", help="put before each name, such as Dr. or Professor")
    parser.add_argument("--style", choices=STYLES, default="plain", help="how it ends (default: plain)")
    parser.add_argument(
        "--format", choices=FRAMES, default="text", help="look of the text output (default: text)"
    )
    parser.add_argument("--time", type=clock, help="time of day to greet for, HH:MM (default: now)")
    parser.add_argument("--json", action="store_true", help="print nothing but JSON")
    return parser.parse_args()


def main() -> None:
    chosen = arguments()
    part = part_of_day(chosen.time or datetime.now().time())
    names = [f"{chosen.title} {name}".strip() for name in chosen.name or ["World"]]
    greetings = [greeting(name, chosen.language, part, chosen.style) for name in names]
    if chosen.json:
        language = GREETINGS[chosen.language][0]
        print(json.dumps({"greetings": greetings, "language": language, "part_of_day": part}))
        return
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    for text in greetings:
        print(FRAMES[chosen.format].format(text))


if __name__ == "__main__":
    main()
