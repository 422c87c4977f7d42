"""Letters that look like a Latin one, and words that mix several scripts.

The table follows the single characters of Unicode's list of confusable characters (UTS #39) that are
letters of the Basic Multilingual Plane in lower case and that NFKC leaves as they are.
"""

import re
import unicodedata

_LIKE = {
    "-": "˗۔‐‒–—⁃−➖ⲻ",
    "2": "ƨϩᒿꙅꝛ",
    "3": "ȝɜʒзӡⲝⳅⳍꝫ",
    "4": "ꮞ",
    "5": "ƽ",
    "6": "бⳓⳝꮾ",
    "8": "ȣ",
    "9": "ⳋꝯ",
    "a": "ɑαаᗅꓮꭺᴀ",
    "b": "ƅβвьᏼᑲᖯᗷⲃꓐꞵꮟʙ",
    "c": "ςсငၚᴄⲥꓚꮯ",
    "d": "ԁᑯᗞᗪꓒꓓꭰꮷᴅ",
    "e": "εеҽⴹꓰꬲꭼᴇ",
    "f": "ƒϝքᖴẝꓝꞙꬵꜰ",
    "g": "ƍɡԍցᏻᶃꓖꮐɢ",
    "h": "нһհᕼⲏꓧꮋꮒʜ",
    "i": "ıɩɪιіւⲓꙇꭵ",
    "j": "ʝϳјᒍꓙꭻȷᴊ",
    "k": "κкᛕⲕꓗꮶᴋ",
    "l": "ǀӏוןاߊᒪᛁⳑⵏꓡꓲꮮʟ",
    "m": "μϻмᗰᛖⲙꓟꮇᴍ",
    "n": "ηпոռⲛꓠɴ",
    "o": "οσϭоօסهھہەଠഠဝჿዐᴏᴑⲟⵔꓳꬽ",
    "p": "þƿρϸрᑭⲣⳏꓑꮲᴘ",
    "q": "ԛգզⵕ",
    "r": "ʀгᖇᴦⲅꓣꭇꭈꭱꮁꮢ",
    "s": "ѕտടꓢꜱꮥꮪ",
    "t": "τтⲧꓔꭲᴛ",
    "u": "ʋυսሀᑌᴜꓴꞟꭎꭒ",
    "v": "νѵטᐯᴠⴸꓦꛟꮩ",
    "w": "ɯшѡԝաᴡⲽꓪꮃꮤ",
    "x": "χхᕁᕽᚷⲭⵝꓫꭓ",
    "y": "ɣʏγуүყᶌỿⲩꓬꭚꭹꮍ",
    "z": "ζᴢꓜꮓ",
}
_TO_LATIN = {ord(like): latin for latin, alike in _LIKE.items() for like in alike}
_EAST_ASIAN = frozenset({"CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO"})
_FIRST_WORD = re.compile(r"[A-Z]+")
_WORDS = re.compile(r"[^\W\d_]+")


def latin_lookalike(name: str) -> str | None:
    """Return the ASCII name that `name` looks like; None if there is none."""
    plain = unicodedata.normalize("NFKC", name).strip().lower()
    # Once more: some letters decompose only in lower case.
    letters = unicodedata.normalize("NFKC", plain)
    # A combining mark that forms no letter with the one before it is easily overlooked.
    latin = "".join(letter for letter in letters if not unicodedata.combining(letter)).translate(_TO_LATIN)
    return latin if latin.isascii() else None


def mixes_scripts(name: str) -> bool:
    """Whether a word in `name` is made of Latin letters and of others; East Asian ones look like none."""
    return any(_is_mixed(word) for word in _WORDS.findall(unicodedata.normalize("NFKC", name)))


def _is_mixed(word: str) -> bool:
    if word.isascii():
        return False
    names = (_FIRST_WORD.match(unicodedata.name(letter, "")) for letter in word)
    return len({name.group() if name else "" for name in names} - _EAST_ASIAN) > 1
