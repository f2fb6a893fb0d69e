"""Reports as tools write them, and what they say."""

import gzip
from typing import Any

import orjson
import pytest

from domain.errors import Invalid
from storage.reports.parsers import PARSERS

COBERTURA = b"""<?xml version="1.0" ?>
<!DOCTYPE coverage SYSTEM 'http://cobertura.sourceforge.net/xml/coverage-04.dtd'>
<coverage line-rate="0.5" version="7"><sources><source>/builds/app</source></sources><packages><package name=".">
<classes><class name="a.py" filename="a.py"><methods><method name="m"><lines><line number="1" hits="3"/></lines>
</method></methods><lines><line number="1" hits="3"/><line number="2" hits="0"/></lines></class>
<class name="a.py:B" filename="a.py"><methods/><lines><line number="2" hits="1"/><line number="x" hits="1"/></lines>
</class><class name="b.py" filename="b.py"><lines><line number="7" hits="0" branch="true"/></lines></class>
</classes></package></packages></coverage>"""
JACOCO = b"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE report PUBLIC "-//JACOCO//DTD Report 1.1//EN" "report.dtd">
<report name="app"><group name="g"><package name="com/shop"><class name="com/shop/A"><counter type="LINE"/></class>
<sourcefile name="A.java"><line nr="3" mi="0" ci="2" mb="0" cb="0"/><line nr="4" mi="5" ci="0"/>
<counter type="LINE" missed="1" covered="1"/></sourcefile></package></group></report>"""
SECURITY: dict[str, Any] = {
    "version": "15.0.0",
    "vulnerabilities": [
        {
            "id": "random-1",
            "name": "SQL injection",
            "description": "d\u0000d",
            "severity": "Critical",
            "solution": "Quote it.",
            "location": {"file": "app.py", "start_line": 12},
            "identifiers": [{"type": "cwe", "name": "CWE-89", "value": "89", "url": "https://cwe.example/89"}],
        },
        {
            "id": "random-2",
            "severity": "weird",
            "location": {
                "image": "alpine:3",
                "operating_system": "alpine",
                "dependency": {"package": {"name": "zlib"}, "version": "1.2"},
            },
            "identifiers": [{"type": "cve", "name": "CVE-1", "value": "CVE-1"}],
        },
    ],
    "scan": {"type": "sast", "status": "success"},
}
QUALITY = [
    {
        "description": "unused import",
        "check_name": "F401",
        "fingerprint": "f1",
        "severity": "minor",
        "location": {"path": "a.py", "lines": {"begin": 3}},
    },
    {"description": "long", "location": {"path": "b.py", "positions": {"begin": {"line": 9, "column": 1}}}},
]
PA11Y = {
    "total": 1,
    "passes": 0,
    "errors": 2,
    "results": {
        "https://shop.example/": [
            {"code": "H25", "type": "error", "message": "no title", "selector": "html", "context": "<html>"},
            {"code": "H30", "type": "notice", "message": "hm", "selector": "a"},
        ]
    },
}


def parsed(kind: str, *files: Any) -> Any:
    """What a report of these files says, each a gzip member; JSON where it is no text."""
    texts = [file if isinstance(file, bytes) else orjson.dumps(file) for file in files]
    return PARSERS[kind](b"".join(gzip.compress(text) for text in texts))


def test_cobertura_counts_each_line_of_each_file_once() -> None:
    found = parsed("cobertura", COBERTURA)
    assert found.summary == {"lines": 3, "covered": 2}
    assert found.entries == [
        {"file": "a.py", "lines": 2, "covered": 2, "hits": {"1": 3, "2": 1}},
        {"file": "b.py", "lines": 1, "covered": 0, "hits": {"7": 0}},
    ]


def test_files_of_several_reports_are_added() -> None:
    found = parsed("cobertura", COBERTURA, COBERTURA)
    assert found.summary == {"lines": 3, "covered": 2}
    assert found.entries[0]["hits"] == {"1": 6, "2": 2}


def test_jacoco_names_files_with_their_package() -> None:
    found = parsed("jacoco", JACOCO)
    assert found.summary == {"lines": 2, "covered": 1}
    assert found.entries == [{"file": "com/shop/A.java", "lines": 2, "covered": 1, "hits": {"3": 2, "4": 0}}]


@pytest.mark.parametrize("kind", ["sast", "dast", "dependency_scanning", "container_scanning", "secret_detection"])
def test_findings_of_every_scanner(kind: str) -> None:
    found = parsed(kind, SECURITY, SECURITY)
    assert found.summary == {"critical": 2, "unknown": 2}
    first, second = found.entries[:2]
    assert (first["name"], first["file"], first["line"], first["description"]) == ("SQL injection", "app.py", 12, "dd")
    assert first["identifiers"][0]["value"] == "89"
    assert (second["name"], second["place"]) == ("CVE-1", "alpine:3 alpine zlib 1.2")


def test_a_finding_keeps_its_fingerprint_though_its_id_is_new() -> None:
    again = orjson.loads(orjson.dumps(SECURITY).replace(b"random-", b"other-"))
    (before, _), (after, other) = parsed("sast", SECURITY).entries, parsed("sast", again).entries
    assert before["fingerprint"] == after["fingerprint"]
    assert after["fingerprint"] != other["fingerprint"]


def test_code_quality() -> None:
    found = parsed("codequality", QUALITY)
    assert found.summary == {"minor": 1, "unknown": 1}
    assert [(entry["file"], entry["line"], entry["check"]) for entry in found.entries] == [
        ("a.py", 3, "F401"),
        ("b.py", 9, ""),
    ]


def test_accessibility() -> None:
    found = parsed("accessibility", PA11Y)
    assert found.summary == {"error": 1, "notice": 1}
    assert found.entries[0] == {
        "url": "https://shop.example/",
        "code": "H25",
        "type": "error",
        "message": "no title",
        "selector": "html",
    }


def test_metrics() -> None:
    text = b'# HELP size Bytes\nsize 12\nrps{path="/a b",code="200"} 1.5e3 1700000000\n\n'
    assert parsed("metrics", text, b"x 1").entries == [
        {"name": "size", "value": "12"},
        {"name": 'rps{path="/a b",code="200"}', "value": "1.5e3"},
        {"name": "x", "value": "1"},
    ]


def test_terraform_adds_up_its_plans() -> None:
    found = parsed("terraform", {"create": 1, "update": 2, "delete": 0}, {"create": 3})
    assert found.summary == {"create": 4, "update": 2, "delete": 0}
    assert len(found.entries) == 2


def test_annotations() -> None:
    found = parsed("annotations", {"docs": [{"external_link": {"label": "Site", "url": "https://d.example/1"}}]})
    assert found.entries == [{"group": "docs", "label": "Site", "url": "https://d.example/1"}]


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "/relative", "https://", "http://[", ""])
def test_links_lead_to_web_pages_only(url: str) -> None:
    with pytest.raises(Invalid, match="web address"):
        parsed("annotations", {"docs": [{"external_link": {"label": "Site", "url": url}}]})


def test_dotenv() -> None:
    assert parsed(
        "dotenv", b"URL=https://x.example/?a=b\nEMPTY=\n SPACED = a b \n", b"URL=later\nQUOTED='q'"
    ).entries == [
        {"key": "URL", "value": "later"},
        {"key": "EMPTY", "value": ""},
        {"key": "SPACED", "value": "a b"},
        {"key": "QUOTED", "value": "'q'"},
    ]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_dotenv_of_windows(encoding: str) -> None:
    assert parsed("dotenv", "A=ü\r\nB=2\r\n".encode(encoding)).entries == [
        {"key": "A", "value": "ü"},
        {"key": "B", "value": "2"},
    ]


INSIDE = ["\r", "\f", "\v", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]


@pytest.mark.parametrize("sign", INSIDE, ids=ascii)
def test_lines_of_dotenv_and_metrics_end_at_newlines_alone(sign: str) -> None:
    text = f"A=50%{sign}100%\nB=x{sign}X=1\r\n"
    assert parsed("dotenv", text.encode()).entries == [
        {"key": "A", "value": f"50%{sign}100%"},
        {"key": "B", "value": f"x{sign}X=1"},
    ]
    metrics = f'size{{of="a{sign}b"}} 1\r\nnext 2\n'
    assert [entry["name"] for entry in parsed("metrics", metrics.encode()).entries] == [
        f'size{{of="a{sign}b"}}',
        "next",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"A=b\n\nC=d", "Invalid Format: line 2"),
        (b"# comment", "Invalid Format: line 1"),
        (b"no sign", "Invalid Format: line 1"),
        (b"A-B=c", "Invalid Format: line 1"),
        (b"=c", "Invalid Format: line 1"),
        (b"K" * 256 + b"=c", "Invalid Format: line 1"),
        (b"A=" + b"x" * 5119, "Maximum Allowable Size: 5120"),
        (b"A=" + b"x" * 20_000_000, "Maximum Allowable Size: 5120"),
        ("\n".join(f"K{number}=v" for number in range(21)).encode(), "more than 20 variables"),
    ],
)
def test_dotenv_that_is_refused(text: bytes, message: str) -> None:
    with pytest.raises(Invalid, match=message):
        parsed("dotenv", text)


def test_dotenv_at_its_limits_is_taken() -> None:
    assert len(parsed("dotenv", "\n".join(f"K{number}=v" for number in range(20)).encode()).entries) == 20
    assert len(parsed("dotenv", b"A=" + b"x" * 5118).entries[0]["value"]) == 5118
