"""Reads `artifacts:reports:dotenv`: variables that a job hands to those that need it.

An entry is `{"key", "value"}`. As GitLab reads them: one `KEY=value` a line, no comments and no empty lines, nothing is
unquoted, blanks around both are dropped. Source: docs/reference/reliability.md, "Hostile files".
"""

import re
from typing import Final

from domain.errors import Invalid, TooLarge
from domain.text_lines import lines_of
from storage.reports.content import Content, documents

SIZE_LIMIT: Final = 5 * 1024
"""Bytes of all files of one upload, unpacked."""
VARIABLE_LIMIT: Final = 20
"""Different variables of one upload."""
_WHAT: Final = "dotenv report"
_KEY: Final = re.compile(r"[a-zA-Z0-9_]{1,255}")
_BLANKS: Final = " \t\n\v\f\r"
"""What Ruby strips; a value may have other blanks around it."""
_BYTE_ORDER_MARKS: Final = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def parse_dotenv(data: bytes) -> Content:
    """The variables, of a key that is given twice the last value. Raises Invalid: the job has to correct its file."""
    try:
        given = documents(data, _WHAT)
    except TooLarge as error:
        raise _too_big() from error
    if sum(map(len, given)) > SIZE_LIMIT:
        raise _too_big()
    variables: dict[str, str] = {}
    for document in given:
        for number, line in enumerate(lines_of(_text(document)), start=1):
            key, sign, value = (part.strip(_BLANKS) for part in line.partition("="))
            if not sign or not _KEY.fullmatch(key):
                raise Invalid(
                    f"Invalid Format: line {number} of the {_WHAT} is no KEY=value with a key of letters, digits and _."
                )
            variables[key] = value
    if len(variables) > VARIABLE_LIMIT:
        raise Invalid(f"Dotenv files cannot have more than {VARIABLE_LIMIT} variables.")
    return Content({}, [{"key": key, "value": value} for key, value in variables.items()])


def _too_big() -> Invalid:
    return Invalid(f"Dotenv Artifact Too Big. Maximum Allowable Size: {SIZE_LIMIT}")


def _text(document: bytes) -> str:
    """As text; Windows writes such files in UTF-16. NUL cannot be in the environment of a process."""
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if document.startswith(mark)), "utf-8-sig")
    return document.decode(encoding, "replace").replace("\0", "")
