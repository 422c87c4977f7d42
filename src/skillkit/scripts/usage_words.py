"""The words before an explanation of how a script is used, in the languages that authors write."""

WORDS = "usage|用法|使用方法|使用方式|使い方|사용법|사용 방법|использование|uso|utilisation|aufruf|verwendung"
"""As a pattern; a colon, also a wide one, follows them."""
UNMISTAKABLE = "用法|使用方法|使用方式|使い方|사용법|использование"
"""Those that are no words of another language."""
