"""JUnit reports as test tools write them, and those that attack their reader."""

import gzip

import pytest

from domain.errors import Invalid, TooLarge
from storage.reports.content import UNPACKED_LIMIT
from storage.reports.junit import MESSAGE_LIMIT, CaseStatus, parse_junit
from tests.growth import cost

PYTEST = b"""<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" errors="0" failures="9" tests="99" time="1.5">
<properties><property name="a" value="b"/></properties>
<testcase classname="tests.test_a" name="test_ok" time="0.25" file="tests/test_a.py"/>
<testcase classname="tests.test_a" name="test_bad" time="1,000.5">
  <failure message="assert 1 == 2">assert 1 == 2
  where it stands</failure></testcase>
<testcase classname="tests.test_a" name="test_skip" time="nan"><skipped message="no docker"/></testcase>
<testcase name="test_error" time="-3"><failure message="first"/><error message="boom">trace \xc3\xa4</error></testcase>
<system-out>noise</system-out>
</testsuite>
<testsuite name="outer"><testsuite name="inner"><testcase name="deep"/></testsuite></testsuite></testsuites>"""


@pytest.mark.parametrize("data", [PYTEST, gzip.compress(PYTEST)], ids=["plain", "gzip"])
def test_report(data: bytes) -> None:
    report = parse_junit(data)
    assert (report.total, report.failed, report.errored, report.skipped) == (5, 1, 1, 1)
    assert report.seconds == 1000.75
    ok, bad, skipped, broken, deep = report.cases
    assert (ok.name, ok.classname, ok.file, ok.seconds) == ("test_ok", "tests.test_a", "tests/test_a.py", 0.25)
    assert (ok.status, ok.message, ok.suite) == (CaseStatus.SUCCESS, "", "pytest")
    assert (bad.status, bad.message) == (CaseStatus.FAILED, "assert 1 == 2\n  where it stands")
    assert (skipped.status, skipped.message, skipped.seconds) == (CaseStatus.SKIPPED, "no docker", 0)
    assert (broken.status, broken.message, broken.seconds) == (CaseStatus.ERROR, "boom\ntrace ä", 0)
    assert (deep.suite, deep.status) == ("inner", CaseStatus.SUCCESS)
    assert [(suite.name, suite.counts.total) for suite in report.suites] == [("pytest", 4), ("inner", 1)]


def test_several_reports_in_one_upload() -> None:
    one = b'<testsuite name="a"><testcase name="x"/></testsuite>'
    two = b'<testsuite name="b"><testcase name="y"><failure/></testcase></testsuite>'
    report = parse_junit(gzip.compress(one) + gzip.compress(two))
    assert [(case.suite, case.name) for case in report.cases] == [("a", "x"), ("b", "y")]
    assert (report.total, report.failed) == (2, 1)


def test_name_space_and_empty_report() -> None:
    assert parse_junit(b'<testsuite xmlns="urn:x"><testcase name="a"/></testsuite>').total == 1
    assert parse_junit(b"<testsuites/>").cases == ()


def test_long_message_is_cut() -> None:
    data = b"<testsuite><testcase><failure>" + b"x" * 1_000_000 + b"</failure></testcase></testsuite>"
    assert len(parse_junit(data).cases[0].message) == MESSAGE_LIMIT


LAUGHS = b'<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>'
FILE = b'<!DOCTYPE l [<!ENTITY x SYSTEM "file:///etc/passwd">]><testsuite name="&x;"/>'
REMOTE = b'<!DOCTYPE testsuite SYSTEM "http://127.0.0.1:1/x.dtd"><testsuite/>'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (LAUGHS, "document type or entities"),
        (FILE, "document type or entities"),
        (REMOTE, "document type or entities"),
        (b'<!DOCTYPE l [<!ENTITY % p SYSTEM "file:///x"> %p;]><testsuite/>', "document type or entities"),
        (b"<testsuite>\n<testcase>\n</testsuite>", "broken XML at line 3, column 3"),
        (b"", "broken XML at line 1"),
        (b"\0\0", "broken XML"),
        (b"<html/>", "root is <html>"),
        (b"<testsuite>" * 40, "32 deep"),
        (b'<?xml version="1.0" encoding="no-such"?><testsuite/>', "report"),
        (gzip.compress(b"<testsuite/>", mtime=0)[:-3], "ends too early"),
        (b"\x1f\x8bnonsense", "broken gzip"),
    ],
)
def test_hostile_and_broken_reports_are_refused(data: bytes, message: str, honest: float) -> None:
    def refused() -> None:
        with pytest.raises(Invalid, match=message):
            parse_junit(data)

    assert cost(refused, attempts=1) < honest


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b" " * (UNPACKED_LIMIT + 1), "more than 10485760 bytes"),
        (gzip.compress(b" " * (UNPACKED_LIMIT + 1), mtime=0), "when unpacked"),
        (gzip.compress(b"<testsuite/>" + b" " * 6_000_000, mtime=0) * 2, "when unpacked"),
        (b"<testsuite>" + b"<testcase/>" * 100_001 + b"</testsuite>", "more than 100000 test cases"),
    ],
    ids=["plain", "gzip", "members", "cases"],
)
def test_limits(data: bytes, message: str) -> None:
    with pytest.raises(TooLarge, match=message):
        parse_junit(data)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("windows-1252", "é€"),
        ("koi8-r", "тест"),
        ("gbk", "测试€"),
        ("GB2312", "测试"),
        ("gb18030", "测试𠀀"),
        ("shift_jis", "テスト①表"),
        ("Windows-31J", "テスト①表"),
        ("big5", "測試"),
        ("euc-kr", "시험"),
        ("euc-jp", "テスト"),
        ("utf-16", "测试"),
    ],
)
def test_encodings_of_the_world(name: str, text: str) -> None:
    codec = {"shift_jis": "cp932", "windows-31j": "cp932", "gbk": "gb18030"}.get(name.lower(), name)
    document = f"<?xml version='1.0' encoding='{name}'?>\n<testsuite name='s'><testcase name='{text}'/></testsuite>"
    (case,) = parse_junit(document.encode(codec)).cases
    assert case.name == text


@pytest.mark.parametrize("name", ["gbk", "shift_jis", "big5", "euc-kr", "gb18030"])
def test_other_encodings_hide_nothing(name: str) -> None:
    declared = f"<?xml version='1.0' encoding='{name}'?>".encode()
    for data, message in (
        (LAUGHS, "document type or entities"),
        (FILE, "document type or entities"),
        (b"<a>", "broken"),
    ):
        with pytest.raises(Invalid, match=message):
            parse_junit(declared + data.partition(b"?>")[2] if data.startswith(b"<?xml") else declared + data)
    with pytest.raises(Invalid, match="encoding that cannot be read"):
        parse_junit(declared + b"<testsuite name='\x81 '/>")


@pytest.mark.parametrize("name", ["punycode", "rot13", "zip", "idna", "hex", "utf-7", "no-such"])
def test_what_is_no_encoding_of_reports(name: str) -> None:
    with pytest.raises(Invalid):
        parse_junit(f"<?xml version='1.0' encoding='{name}'?><testsuite/>".encode())


@pytest.mark.parametrize(
    ("printed", "name"),
    [
        ("[[ATTACHMENT|shots/a.png]]", "shots/a.png"),
        ("noise\n[[ATTACHMENT|./shots/a b.png]] and [[ATTACHMENT|b.png]]", "shots/a b.png"),
        ("[[ATTACHMENT|/shots/a.png]]", "shots/a.png"),
        ("[[ATTACHMENT|../../etc/passwd]]", ""),
        ("[[ATTACHMENT|a\nb]]", ""),
        ("[[ATTACHMENT|]]", ""),
        ("[[ATTACHMENT|a", ""),
        ("[[ATTACHMENT|" + "a" * 1025 + "]]", ""),
        ("nothing", ""),
    ],
)
def test_a_case_that_fails_names_a_file(printed: str, name: str) -> None:
    cases = "".join(
        f"<testcase name='{kind}'><{kind}/><system-out>{printed}</system-out></testcase>"
        for kind in ("failure", "error", "skipped")
    )
    found = {case.name: case.attachment for case in parse_junit(f"<testsuite>{cases}</testsuite>".encode()).cases}
    assert found == {"failure": name, "error": name, "skipped": ""}
