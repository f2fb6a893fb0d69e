"""Reports that attack their reader: each is a typed error, sooner than an honest one is read; nothing outside is."""

import gzip
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from domain.errors import Invalid, PerdureError, TooLarge
from storage.reports.junit import parse_junit
from storage.reports.parsers import PARSERS
from tests.growth import cost

Parser = Callable[[bytes], Any]

LAUGHS = b"".join(
    b'<!ENTITY l%d "%s">' % (number, b"&l%d;" % (number - 1) * 10 if number else b"lol") for number in range(10)
)
XML: dict[str, tuple[Parser, bytes]] = {
    "cobertura": (PARSERS["cobertura"], b"coverage"),
    "jacoco": (PARSERS["jacoco"], b"report"),
    "junit": (parse_junit, b"testsuites"),
}
ATTACKS = {
    "external entity": b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><%s>&x;</%s>',
    "external parameter": b'<!DOCTYPE r [<!ENTITY %% p SYSTEM "http://127.0.0.1:9/p">%%p;]><%s></%s>',
    "entities that multiply": b"<!DOCTYPE r [" + LAUGHS + b"]><%s>&l9;</%s>",
    "attribute default": b'<!DOCTYPE r [<!ENTITY x "y">]><%s a="&x;"></%s>',
    "cut": b"<%s><!-- %s",
    "other root": b"<html><!-- %s %s --></html>",
    "deep": b"<%s>" + b"<a>" * 100 + b"</a>" * 100 + b"</%s>",
    "encoding": b'<?xml version="1.0" encoding="nonsense"?><%s></%s>',
    "no xml": b"\0\1\2 %s %s",
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
@pytest.mark.parametrize(("parser", "root"), XML.values(), ids=XML.keys())
def test_hostile_xml_is_refused(parser: Parser, root: bytes, attack: bytes, honest: float) -> None:
    def refused() -> None:
        with pytest.raises(Invalid, match="report"):
            parser(attack % (root, root))

    assert cost(refused, attempts=1) < honest


JSON = {
    "no json": b"{",
    "another type": b'"text"',
    "deep": b"[" * 1_000_000,
    "numbers": b'{"vulnerabilities": [1, 2]}',
    "nothing": b"",
    "not utf-8": b'{"a": "\xff"}',
}


@pytest.mark.parametrize("attack", JSON.values(), ids=JSON.keys())
@pytest.mark.parametrize("kind", ["sast", "codequality", "terraform", "annotations"])
def test_broken_json_is_refused(kind: str, attack: bytes, honest: float) -> None:
    def refused() -> None:
        with pytest.raises(Invalid, match="report"):
            PARSERS[kind](attack)

    assert cost(refused, attempts=1) < honest


@pytest.fixture(scope="module")
def bomb() -> bytes:
    return gzip.compress(b"\0" * 200_000_000)


@pytest.mark.parametrize("kind", sorted(PARSERS))
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_what_is_too_large_is_never_unpacked(kind: str, packed: bool, bomb: bytes, honest: float) -> None:
    plain = bomb if packed else b"x" * 10_485_761

    def refused() -> None:
        with pytest.raises(PerdureError):
            PARSERS[kind](plain)

    assert cost(refused, attempts=1) < honest


def test_many_entries_are_refused() -> None:
    many = orjson.dumps([{"location": {}}] * 50_001)
    with pytest.raises(TooLarge, match="50000 entries"):
        PARSERS["codequality"](many)
    with pytest.raises(TooLarge, match="50000 entries"):
        PARSERS["codequality"](gzip.compress(orjson.dumps([{}] * 30_000)) * 2)


VALUES: tuple[Any, ...] = (None, 1, -1, 1e308, 2**63, True, "x", "\u0000", [], [[]], [{}], {}, {"a": []}, "é" * 10_000)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_of_another_type_are_never_a_surprise(value: Any) -> None:
    """Whatever stands where: it is read or refused, and what is kept is small and without NUL."""
    finding = dict.fromkeys(("name", "severity", "location", "identifiers", "description"), value)
    issue = dict.fromkeys(("description", "check_name", "fingerprint", "severity", "location"), value)
    texts: list[tuple[str, Any]] = [
        ("sast", {"vulnerabilities": value}),
        ("sast", {"vulnerabilities": [finding]}),
        ("sast", {"vulnerabilities": [{"location": {"file": value, "start_line": value, "dependency": value}}]}),
        ("sast", {"vulnerabilities": [{"location": {"dependency": {"package": value}}, "identifiers": [value]}]}),
        ("codequality", value),
        ("codequality", [issue]),
        ("codequality", [{"location": {"path": value, "lines": value, "positions": {"begin": value}}}]),
        ("accessibility", {"results": value}),
        ("accessibility", {"results": {"u\u0000": [dict.fromkeys(("code", "type", "message"), value)]}}),
        ("terraform", {"create": value, "update": 1}),
        ("annotations", {"a\u0000": value}),
        ("annotations", {"a": [{"external_link": value}]}),
    ]
    for kind, document in texts:
        try:
            found = PARSERS[kind](orjson.dumps(document))
        except (Invalid, TooLarge):
            continue
        kept = orjson.dumps([found.summary, found.entries])
        assert b"\\u0000" not in kept
        assert len(kept) < 100_000
