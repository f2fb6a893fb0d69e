"""Sections of a log, from its marks."""

from domain.logs.index import BEGIN, extended
from domain.logs.sections import Section, sections_of


def sections(log: bytes) -> list[Section]:
    return sections_of(extended(BEGIN.after, log, is_last=True).marks)


def test_a_section_has_lines_a_heading_and_a_duration() -> None:
    log = b"a\n\x1b[0Ksection_start:10:build_it\r\x1b[0K\x1b[36mBuild\nx\nsection_end:15:build_it\r\x1b[0K\nrest\n"
    assert sections(log) == [Section("build_it", "\x1b[36mBuild", 2, 0, False, 10, 4, 15, True)]
    assert sections(log)[0].seconds == 5


def test_sections_within_sections_close_with_the_outer_one() -> None:
    log = (
        b"section_start:1:a\r\n section_start:2:b[collapsed=true]\r\nsection_start:3:c\r\n"
        b"section_end:4:b\rsaid\nsection_end:9:a\r\x1b[0Ksection_start:9:d\rNext\n"
    )
    found = {one.name: (one.depth, one.start, one.end, one.seconds, one.alone) for one in sections(log)}
    assert found == {
        "a": (0, 1, 5, 8, False),
        "b": (1, 2, 4, 2, False),
        "c": (2, 3, 4, 1, False),
        "d": (0, 5, None, None, False),
    }
    assert [one.collapsed for one in sections(log)] == [False, True, False, False]


def test_an_end_that_closes_nothing_is_left_out() -> None:
    assert sections(b"section_end:1:a\r\nsection_start:x:b\rsection_start:1:\rsection_start:1:no end\n") == []


def test_marks_of_a_stamped_log_are_found_and_lines_in_pieces_are_one() -> None:
    stamp = b"2026-01-02T03:04:05.123456Z 00O"
    log = (
        stamp + b" section_start:1:a\r\x1b[0K\n" + stamp + b"+Heading\n" + stamp + b" text\n"
        + stamp + b" section_end:2:a\r\x1b[0K\n"
    )  # fmt: skip
    assert [(one.heading, one.start, one.end, one.alone) for one in sections(log)] == [("Heading", 1, 3, True)]


def test_names_and_headings_are_text_of_others() -> None:
    (found,) = sections(b"section_start:1:<script>alert(1)</script>\r<img src=x onerror=alert(1)>\xff" + b"x" * 999)
    assert found.name == "<script>alert(1)</script>"
    assert found.heading.startswith("<img src=x onerror=alert(1)>\ufffdxxx")
    assert len(found.heading) < 400
