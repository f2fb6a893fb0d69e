"""Foreign text in messages: one line, bounded, nothing in it that turns or hides text, nothing that a chat would obey.

Source of the rules: Slack, "Formatting text for app surfaces" (escape `&`, `<` and `>`; `<!channel>` and `<@U1>` are
mentions); Mattermost, "Slack-compatible webhooks" and "Formatting messages" (Markdown; `@channel`, `@all`, `@here` and
`@name` are mentions wherever they stand).
"""

import re
import unicodedata
from typing import Final

NAME_LENGTH: Final = 200
"""Characters of a name, title or ref in a message."""
SENTENCE_LENGTH: Final = 500
_HIDING: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories that show nothing, or change how what follows is shown (line ends, bidirectional marks)."""
_AT: Final = re.compile(r"@(?=\S)")
ZERO_WIDTH_SPACE: Final = "\N{ZERO WIDTH SPACE}"
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]()#~|!])")
_FOR_SLACK: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def one_line(text: str, most: int = NAME_LENGTH) -> str:
    """A text as one line of at most so many characters."""
    shown = "".join(" " if unicodedata.category(character) in _HIDING else character for character in text[: 4 * most])
    words = " ".join(shown.split())
    return words if len(words) <= most else f"{words[: most - 1].rstrip()}…"


def for_slack(text: str) -> str:
    """A line as Slack shows it and nothing else: no link, no mention."""
    return _AT.sub(f"@{ZERO_WIDTH_SPACE}", text).translate(_FOR_SLACK)


def for_mattermost(text: str) -> str:
    """The same for Mattermost, which reads Markdown besides."""
    return _MARKDOWN.sub(r"\\\1", _AT.sub(f"@{ZERO_WIDTH_SPACE}", text)).translate(_FOR_SLACK)
