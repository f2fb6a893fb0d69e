import pytest

from steps.ways.said import Said, ended


def heard(*pieces: bytes) -> str:
    said = Said("there")
    for piece in pieces:
        said.hear(piece)
    return said.end()


def test_lines_come_out_however_they_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    assert heard(b"fi", b"rst\r\nsec", b"ond\n", b"\n@@@@@@\nlast") == "first; second; last"
    assert capsys.readouterr().out.count("the way to a step runner says") == 3


def test_nothing_moves_the_cursor_or_fills_the_memory() -> None:
    assert heard(b"\x1b[2J\xff\n") == "\N{REPLACEMENT CHARACTER}[2J\N{REPLACEMENT CHARACTER}"
    assert len(heard(*[b"x" * 1000] * 1000)) == 500
    assert heard(*[b"%d\n" % number for number in range(1000)]) == "; ".join(str(n) for n in range(992, 1000))


def test_only_the_first_lines_are_logged(capsys: pytest.CaptureFixture[str]) -> None:
    heard(*[b"line\n"] * 1000)
    assert capsys.readouterr().out.count("the way to a step runner says") == 200


@pytest.mark.parametrize(
    ("code", "said", "text"),
    [
        (None, "", "a: b has ended"),
        (1, "why", "a: b has ended with exit code 1: why"),
        (-9, "", "a: b has ended by signal 9"),
        (126, "no", "a: b has ended with exit code 126: no (the command of `proxy` cannot be run there)"),
    ],
)
def test_an_end_is_told(code: int | None, said: str, text: str) -> None:
    assert str(ended("a", "b", code, said)) == text
