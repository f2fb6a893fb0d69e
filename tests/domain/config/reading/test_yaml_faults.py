"""What people are told of a text that is no YAML: what was expected, and the lines that show it."""

import pytest

from domain.config.reading.issues import Issues
from domain.config.reading.yaml_text import parse
from domain.errors import ConfigInvalid

MISTAKES: list[tuple[str, str, str, tuple[str, ...]]] = [
    (
        "build:\n  script: make\n   stage: test\n",
        "ci.yml:3:4",
        "this line is indented too deep: line 2 above has its value already; indent both by 2",
        (
            "     2 |   script: make",
            "     3 |    stage: test",
            "       |    ^",
        ),
    ),
    (
        "build:\n    script: make\n  stage: test\n",
        "ci.yml:3:3",
        "this line is indented by 2, line 2 by 4; indent alike what belongs together",
        (
            "     2 |     script: make",
            "     3 |   stage: test",
            "       |   ^",
        ),
    ),
    (
        "build:\n\tscript: make\n",
        "ci.yml:2:1",
        "expected blanks, met a tab; indent with spaces, not with a tab",
        (
            "     2 | →script: make",
            "       | ^",
        ),
    ),
    (
        "build:\n  script: make\n  stage test\n  needs: []\n",
        "ci.yml:3:3",
        "expected `key: value`, but there is no `: ` after `stage test`; indent it as the text above if it goes on",
        (
            "     3 |   stage test",
            "       |   ^",
        ),
    ),
    (
        "  a: {script: x}\nb: {script: x}\n",
        "ci.yml:2:1",
        "this line is indented by 0, less than the lines above; begin the first key of the file without indentation",
        (
            "     1 |   a: {script: x}",
            "     2 | b: {script: x}",
            "       | ^",
        ),
    ),
    (
        "a:\n  script: |\n\t x\n",
        "ci.yml:3:1",
        "expected blanks, met a tab; indent with spaces, not with a tab",
        (
            "     3 | → x",
            "       | ^",
        ),
    ),
    (
        "build\n  script: make\n",
        "ci.yml:1:6",
        "expected a colon at the end of `build` in line 1",
        (
            "     1 | build",
            "       |      ^",
            "     2 |   script: make",
        ),
    ),
    (
        "build:\n  script:make\n  stage: a\n",
        "ci.yml:2:9",
        "expected a blank after the colon; write `script: make`",
        (
            "     2 |   script:make",
            "       |         ^",
            "     3 |   stage: a",
        ),
    ),
    (
        'build:\n  script: "make\n  stage: test\nother:\n  script: x\n',
        "ci.yml:2:11",
        'expected a closing `"`: this quote is open until the end of the file',
        (
            '     2 |   script: "make',
            "       |           ^",
        ),
    ),
    (
        'build:\n  script: "make\n  stage: "test"\n',
        "ci.yml:2:11",
        'expected a closing `"`: this quote is open until line 3',
        (
            '     2 |   script: "make',
            "       |           ^",
            '     3 |   stage: "test"',
        ),
    ),
    (
        "build:\n  script: 'it's here'\n  stage: test\n",
        "ci.yml:2:15",
        (
            "nothing may follow a closing quote or bracket, but `s here'` does; "
            "quote the whole value (a ' in '...' is written '')"
        ),
        (
            "     2 |   script: 'it's here'",
            "       |               ^",
        ),
    ),
    (
        "build:\n  script: [make, x\n  stage: test\n",
        "ci.yml:2:11",
        "expected a closing `]` for this `[`, or a comma, before line 3",
        (
            "     2 |   script: [make, x",
            "       |           ^",
            "     3 |   stage: test",
        ),
    ),
    (
        "build:\n  script: echo: hello\n",
        "ci.yml:2:15",
        "a value with `: ` in it needs quotes; write `script: 'echo: hello'`",
        (
            "     2 |   script: echo: hello",
            "       |               ^",
        ),
    ),
    (
        'build:\n  script:\n    - echo "a"\n    - echo: b: c\n',
        "ci.yml:4:14",
        "a value with `: ` in it needs quotes; write `- 'echo: b: c'`",
        (
            "     4 |     - echo: b: c",
            "       |              ^",
        ),
    ),
    (
        "build:\n  script:\n   - a\n  - b\n",
        "ci.yml:4:3",
        "this item is indented by 2, the one in line 3 by 3; indent all items of a list alike",
        (
            "     3 |    - a",
            "     4 |   - b",
            "       |   ^",
        ),
    ),
    (
        "build:\n  script: a\n  - b\n",
        "ci.yml:3:3",
        "expected `key: value`, met an item of a list: the key in line 2 has its value already",
        (
            "     2 |   script: a",
            "     3 |   - b",
            "       |   ^",
        ),
    ),
    (
        "build:\n  script: - b\n",
        "ci.yml:2:11",
        "expected one value; the items of a list begin below their key, each in a line of its own",
        (
            "     2 |   script: - b",
            "       |           ^",
        ),
    ),
    (
        "stages:\n  - a\n  b: c\n",
        "ci.yml:3:3",
        "expected `- `: this line is indented as the list that begins in line 2; indent a key less",
        (
            "     2 |   - a",
            "     3 |   b: c",
            "       |   ^",
        ),
    ),
    (
        "build:\n  script: [a b, {c: d e: f}]\n",
        "ci.yml:2:24",
        "expected `,` or `}` here, in what `{` begins",
        (
            "     2 |   script: [a b, {c: d e: f}]",
            "       |                        ^",
        ),
    ),
    (
        'build:\n  script: "a\\d"\n',
        "ci.yml:2:13",
        '`\\d` means nothing within "..."; write `\\\\d`, or use single quotes',
        (
            '     2 |   script: "a\\d"',
            "       |             ^",
        ),
    ),
    (
        "<<<<<<< HEAD\nbuild:\n  script: a\n=======\n",
        "ci.yml:1:1",
        "git left a merge conflict here; keep one side and remove its marks",
        (
            "     1 | <<<<<<< HEAD",
            "       | ^",
        ),
    ),
    (
        "build:\n  script: 日本: b: c\n",
        "ci.yml:2:13",
        "a value with `: ` in it needs quotes; write `script: '日本: b: c'`",
        (
            "     2 |   script: 日本: b: c",
            "       |               ^",
        ),
    ),
]
"""A text, the place of its fault, the sentence, and the lines shown."""


@pytest.mark.parametrize(("text", "place", "sentence", "shown"), MISTAKES, ids=[text for text, *_ in MISTAKES])
def test_the_usual_mistakes_are_told_with_their_lines(
    text: str, place: str, sentence: str, shown: tuple[str, ...]
) -> None:
    with pytest.raises(ConfigInvalid) as raised:
        parse(text, Issues("ci.yml"), "")
    (issue,) = raised.value.issues
    assert str(issue).split("\n") == [f"{place}: Invalid configuration format: {sentence}", *shown]
