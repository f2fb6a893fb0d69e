"""Every reader of what others write, with texts that cost it most, as functions of a size.

A row is made of what calls the reader, and of the text for a size. Patterns of `re` have a test of their own.
"""

import gzip
import json
import os
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from api.pages.jobs.archive_folders import folder_of, trail_of
from api.pages.jobs.log_lines import heading_of, lines_in
from api.pages.jobs.log_search import finder, hits_in
from api.pages.merge_requests.texts import system_note
from api.runner.multipart import _Reader
from api.v4.parameters import nested
from domain.config.form import input_fields
from domain.config.including.wildcards import matching
from domain.config.inputs.blocks import blocks_of
from domain.config.reading.durations import parse_duration
from domain.config.rules.expression import parse as parse_expression
from domain.config.rules.globs import Glob, PathText
from domain.config.rules.patterns import read_pattern
from domain.diffs.patch import read_patch
from domain.diffs.visible_text import deceives, visible
from domain.hooks.webhooks import passes_branch_filter
from domain.logs.failure import failure_in
from domain.logs.index import BEGIN, extended
from domain.logs.moments import first_stamp, line_since
from domain.logs.packing import packed, unpacked
from domain.logs.sections import sections_of
from domain.logs.styles import PLAIN
from domain.masked_stream import Masker
from domain.masking import MaskedRange, Secrets, forms
from domain.moa.expression import render
from domain.notifications.integrations import addresses_of
from domain.notifications.plain_words import for_mattermost, for_slack, one_line
from domain.pipelines.coverage import CoverageSearch
from domain.pipelines.job_phases import script_times
from domain.pipelines.script_begin import BeginSearch
from domain.pipelines.skipping import is_skipped
from domain.pods.routable_token import read_route
from domain.projects.protection import fits
from domain.projects.ref_names import shadows
from domain.schedules.cron import parse as parse_cron
from domain.steps.images import Compression
from domain.steps.output_files import read_outputs
from domain.steps.reading import read_definition
from domain.steps.rendering import Names, rendered
from domain.variables.job_variables import JobVariable, expand, group_name
from fleet.glob_patterns import alternatives, below
from fleet.variables import expand as expand_for_runner
from git.names import checked_ref
from git.output import Completed
from git.reading.commit import parse_commit
from git.reading.diffs import hunks_of
from git.reading.line_counts import read_counts
from git.reading.trailers import trailers_of
from git.transport.pkt_line import packet
from git.transport.push import reported, with_message
from git.transport.transfer import _refusals
from git.writing.tree_editing import _entries
from includes.components import highest, read_address
from includes.remote_file import shown
from steps.oci.unpacking import Unpacking
from steps.service.errors import shortened
from steps.ways.docker_frames import Frames
from storage.reports.junit import parse_junit
from storage.reports.parsers import PARSERS
from storage.zip_directory import ENTRY, Entry, Extent, locate, read_entries
from tests.compiling import plan_of
from tests.security.hostile_requests import REQUESTS
from tests.security.hostile_rows import Hostile, repeated
from tests.steps.oci.layers import archive, entry, folder, layer, link

SHA: Final = "5" * 40


def _yaml(**texts: Callable[[int], str]) -> dict[str, Hostile]:
    return {f"configuration: {name.replace('_', ' ')}": Hostile(plan_of, text, 200) for name, text in texts.items()}


def _job(*lines: str) -> str:
    return "\n".join(("job:", "  script: x", *(f"  {line}" for line in lines))) + "\n"


def _list(head: str, item: str) -> Callable[[int], str]:
    return lambda size: _job(head, *(f"  - {item.replace('%', str(number))}" for number in range(size)))


CONFIGURATIONS: Final = _yaml(
    jobs=lambda size: "".join(f"job{number}: {{script: x}}\n" for number in range(size)),
    jobs_that_need_the_one_before=lambda size: (
        "a0: {script: x}\n"
        + "".join(f"a{number}: {{script: x, needs: [a{number - 1}]}}\n" for number in range(1, size))
    ),
    jobs_that_all_need_one=lambda size: (
        "a: {script: x}\n" + "".join(f"a{number}: {{script: x, needs: [a]}}\n" for number in range(size))
    ),
    jobs_that_extend_one=lambda size: (
        ".a: {script: x}\n" + "".join(f"a{number}: {{extends: .a}}\n" for number in range(size))
    ),
    jobs_that_extend_the_one_before=lambda size: (
        "a0: {script: x}\n" + "".join(f"a{number}: {{extends: a{number - 1}}}\n" for number in range(1, size))
    ),
    bases_of_a_job=_list("extends:", ".a%"),
    stages=lambda size: f"stages: [{', '.join(f's{number}' for number in range(size))}]\n{_job('stage: s0')}",
    needs_of_a_job=_list("needs:", "a%"),
    dependencies_of_a_job=_list("dependencies:", "a%"),
    rules=_list("rules:", "if: $A == 'a%'"),
    rules_with_one_pattern=_list("rules:", "if: $A =~ /a.*b/"),
    rules_with_many_patterns=_list("rules:", "if: $A =~ /a%.*b/"),
    globs_of_changes=_list("rules:", "changes: ['**/*.a%']"),
    globs_of_exists=_list("rules:", "exists: ['{a,b}%/*']"),
    one_long_rule=lambda size: _job("rules:", f"  - if: {' && '.join(['$A'] * size)}"),
    parentheses=lambda size: _job("rules:", f"  - if: {'(' * size}$A{')' * size}"),
    lines_of_a_script=_list("before_script:", "echo %"),
    scripts_in_lists=lambda size: _job(f"before_script: [{'[a], ' * size}]"),
    variables=lambda size: (
        "variables:\n" + "".join(f"  A{number}: $A{number + 1}\n" for number in range(size)) + _job()
    ),
    a_value_of_references=lambda size: f"variables:\n  A: {'$B' * size}\n  B: b\n{_job('tags: [$A]')}",
    parallel_jobs=lambda size: _job(f"parallel: {size}"),
    a_matrix=lambda size: _job("parallel:", f"  matrix: [{{A: [{', '.join(map(str, range(size)))}]}}]"),
    references=lambda size: ".a: {script: [x]}\n" + _job(f"before_script: [{'!reference [.a, script], ' * size}]"),
    references_of_references=lambda size: (
        "".join(f".a{number}: {{script: [!reference [.a{number + 1}, script]]}}\n" for number in range(size))
        + _job("before_script: !reference [.a0, script]")
    ),
    anchors=lambda size: "".join(f".a{number}: &a{number} {{script: x}}\n" for number in range(size)) + _job(),
    aliases=lambda size: f".a: &a {{script: x}}\n.b: [{'*a, ' * size}]\n{_job()}",
    merged_keys=lambda size: f".a: &a {{script: x}}\n.b: {{<<: [{'*a, ' * size}]}}\n{_job()}",
    the_same_key=lambda size: "variables:\n" + "  A: a\n" * size + _job(),
    keys_that_nobody_knows=lambda size: "job:\n  script: x\n" + "".join(f"  scrip{n}: x\n" for n in range(size)),
    documents=lambda size: "---\n" * size,
    brackets=lambda size: "a: " + "[" * size,
    braces=lambda size: "a: " + "{a: " * size,
    an_open_quote=lambda size: "a: '" + "a\n  " * size,
    an_open_double_quote=lambda size: 'a: "' + "\\u0041" * size,
    comments=lambda size: "# a\n" * size + _job(),
    blank_lines=lambda size: "\n" * size + _job() + "  " * size,
    digits=lambda size: f"variables: {{A: {'1' * size}}}\n{_job()}",
    sexagesimals=lambda size: f"variables: {{A: {'1:' * size}1}}\n{_job()}",
    tags=lambda size: "a: [" + "!a b, " * size + "]",
    a_long_line=lambda size: _job(f"before_script: ['{'a ' * size}']"),
    folded_text=lambda size: "job:\n  script: >\n" + "    a\n\n" * size,
    includes=lambda size: "include: [" + ", ".join(f"a{number}.yml" for number in range(size)) + "]\n" + _job(),
    includes_with_stars=lambda size: f"include: 'a/{'*a' * size}.yml'\n{_job()}",
    caches=_list("cache:", "{key: a%, paths: [a%]}"),
    cached_files=lambda size: _job(f"cache: {{key: {{files: [{'a, ' * size}]}}, paths: [a]}}"),
    paths_of_artifacts=lambda size: _job(f"artifacts: {{paths: [{'a, ' * size}]}}"),
    services=_list("services:", "a%"),
    secrets=lambda size: _job("secrets:", *(f"  A{n}: {{vault: a/b/c@d}}" for n in range(size))),
    a_secret=lambda size: _job(f"secrets: {{A: {{vault: {'a/' * size}c@d}}}}"),
    only=_list("only:", "/a%.*/"),
    identity_tokens=lambda size: _job("id_tokens:", *(f"  A{n}: {{aud: a}}" for n in range(size))),
    inputs=lambda size: (
        "spec:\n  inputs:\n" + "".join(f"    a{number}: {{default: x}}\n" for number in range(size)) + "---\n" + _job()
    ),
    blocks=lambda size: (
        "spec: {inputs: {a: {default: x}}}\n---\n" + _job(f"before_script: ['{'$[[ inputs.a ]]' * size}']")
    ),
    options=lambda size: (
        f"spec: {{inputs: {{a: {{options: [{', '.join(f'o{n}' for n in range(size))}], default: o0}}}}}}\n---\n{_job()}"
    ),
)


def _repeated(piece: str, end: str = "", start: str = "") -> Callable[[int], str]:
    return lambda size: start + piece * size + end


def _each(reader: Callable[[str], object], name: str, *shapes: tuple[str, ...], size: int = 1000) -> dict[str, Hostile]:
    """Shapes are a piece, what stands behind all of them, and what before."""
    return {f"{name}: {' '.join(map(repr, shape))}": Hostile(reader, _repeated(*shape), size) for shape in shapes}


def _glob(text: str) -> object:
    return Glob(text).first(PathText.of(("a" * 100 + "b", "b/" * 50)))


def _step_file(text: str) -> object:
    return read_definition(text, "step.yml")


def _moa(text: str) -> object:
    return render(text, {})


PATHS: Final = PathText.of(tuple(f"{'a' * 50}/{number}" for number in range(100)))
LONG: Final = b"a" * 200 + b"b"

SMALL_TEXTS: Final = {
    **_each(
        _glob,
        "glob",
        ("{",),
        ("{", "}"),
        ("{a,", "}"),
        ("{a,b}",),
        ("[",),
        ("[a-",),
        ("[a]",),
        ("*a",),
        ("?",),
        size=60,
    ),
    **_each(_glob, "glob ", ("\\",), ("**/",), ("a,", "}", "{"), ("[!a]",), ("é",), size=60),
    **_each(
        lambda text: Glob("**/*a*a*b").first(PathText.of((text, *[text[:9]] * 9))), "path", ("a",), ("a/",), ("\0",)
    ),
    **_each(lambda text: matching(text, PATHS), "wildcard", ("*a",), ("**",), ("**/",), size=60),
    **_each(lambda text: matching("**a*b*", PathText.of((text, text))), "path of a wildcard", ("a",), ("a/",)),
    **_each(lambda text: fits(text, "a" * 100), "protected name", ("*a",), ("*",)),
    **_each(lambda text: passes_branch_filter("wildcard", text, "a" * 300), "branch filter", ("*a",), ("*",)),
    **_each(lambda text: passes_branch_filter("wildcard", "a*a*b*a*a*b", text), "branch", ("a",), ("ab",)),
    **_each(lambda text: for_mattermost(for_slack(one_line(text))), "line", ("a",), ("\n",), ("\u202e",), ("@",)),
    **_each(lambda text: for_mattermost(for_slack(text)), "chat", ("@a",), ("\\",), ("[",), ("&",), ("@",)),
    **_each(addresses_of, "addresses", ("a@b.example ",), (",",), ("a.",), ("a@",), ("a-", "a@")),
    **_each(read_pattern, "pattern", ("a?", "/", "/"), ("(", "/", "/"), ("[a]", "/", "/"), ("a|", "/", "/"), size=100),
    **_each(
        parse_expression,
        "expression",
        ("(",),
        ("$a && ", "$a"),
        ("!", "$a"),
        ("$a == ",),
        ("/a",),
        ("'",),
        (" ",),
        ('"a',),
    ),
    **_each(
        lambda text: list(blocks_of(text)),
        "blocks",
        ("$[[",),
        ("]]",),
        ("$[[ a ]]",),
        ("$[[ \n",),
        ("$[[\n]]",),
        ("$[[ a",),
    ),
    **_each(
        _moa,
        "moa",
        ("1 + ", "1 }}", "${{ "),
        ("[", "", "${{ "),
        ("'a", "", "${{ "),
        ("\\\\'", "", "${{ '"),
        ("a.", "a }}", "${{ "),
    ),
    **_each(
        _moa,
        "moa ",
        ("${{",),
        ("${{ 1 }}",),
        ("\\${{",),
        ('"', "", "${{ "),
        ("1, ", "] }}", "${{ ["),
        (" ", "1 }}", "${{ "),
    ),
    **_each(
        _moa, "moa  ", ("1", "}}", "${{ "), ("a ? ", "", "${{ "), ('${{ "',), ("!", "1 }}", "${{ "), ("$", "${{ 1 }}")
    ),
    **_each(parse_duration, "duration", ("1 h ",), ("1",), (" ",), ("1.",)),
    **_each(parse_cron, "cron", ("1,", "1 * * * *"), ("* ",), ("1", " * * * *"), ("*/1,", "1 * * * *")),
    **_each(is_skipped_message := lambda text: is_skipped("push", text), "message", ("[ci",), ("[",), ("[ci ",)),
    **_each(
        trailers_of,
        "trailers",
        ("a: b\n", "", "t\n\n"),
        ("\n\n",),
        (" ", "", "t\n\na:"),
        ("a", "", "t\n\n"),
        (" a\n", "", "t\n\nb: c\n"),
    ),
    **_each(checked_ref, "ref", ("a/",), ("a.",), ("@",), ("{",), ("..",)),
    **_each(shadows, "short name", ("refs/",), ("refs/heads/",)),
    **_each(read_address, "component", ("a/", "@1", "h/"), ("@",), ("/",), ("a", "@1", "h/a/")),
    **_each(shown, "address in a message", ("?akey",), ("?",), ("&a=",), ("?a=key",), ("=key",), size=200),
    **_each(group_name, "name of a job", (" ",), (" 1/1",), (": [",), (": [", "]"), ("]", "", ": [")),
    **_each(read_route, "token", ("a",), (".01.",), ("glpat-",)),
    **_each(lambda text: input_fields(text, ""), "form", ("spec: ",), ("a: b\n", "", "spec:\n")),
    **_each(lambda text: expand_for_runner(text, {"a": "b"}), "text of a runner", ("$a",), ("$",), ("${",), ("$$",)),
    **_each(
        lambda text: [below(parts) for parts in alternatives(text)],
        "glob of a runner",
        *(("{",), ("{", "}"), ("[",), ("[", "]"), ("*",), ("**/",), ("}",), ("{a", "}"), ("{}",), ("{a}",)),
        *(("{a,b}",), ("\\[",), ("[a-z]",), ("a,", "", "{")),
    ),
}


def _masked(data: bytes, *values: bytes) -> object:
    secrets = Secrets(values)
    return MaskedRange(secrets, 0, len(data), len(data), grows=True).feed(data)


def _masked_by_a_runner(data: bytes) -> object:
    masker = Masker(["a" * 200 + "b", "x"])
    return [masker.feed(data[start : start + 4096]) for start in range(0, len(data), 4096)], masker.flush()


def _value(size: int) -> str:
    return "a" * size + "b"


LOG_PIECES: Final = (
    b"\x1b[31m", b"a\r", b"section_start:1:a\r\x1b[0K", b"section_end:1:a\r", b"<", b"\xff", b"\x1b[38;5;1", b"\n",
    b"error: \n", b"rror", b"\n2026-01-01T00:00:00.000000Z 00O+", b"https://x.y/", b"\x1b]8;;https://x.y/\x07",
)  # fmt: skip
LOG_READERS: Final[dict[str, Callable[[bytes], object]]] = {
    "indexed": lambda data: _indexed(data),
    "drawn": lambda data: list(lines_in(data, PLAIN)),
    "searched": lambda data: hits_in(data, 1, finder("1", is_pattern=False, is_exact=False), len(data)),
}


def _indexed(data: bytes) -> object:
    index = BEGIN.followed_by(extended(BEGIN.after, data, is_last=True))
    sections = sections_of(index.marks)
    failure = failure_in(index, sections, index.after.lines)
    return failure, [heading_of(one.heading) for one in sections], unpacked(packed(index))


LOGS: Final = {
    **{
        f"log, {name}: {piece!r}": Hostile(read, repeated(piece, b""))
        for name, read in LOG_READERS.items()
        for piece in LOG_PIECES
    },
    **{
        f"masking: {piece!r}": Hostile(lambda data: _masked(data, LONG, b"x"), repeated(piece, b""))
        for piece in (b"a", b"x", b"glpat-", b"glpat-a ", b"g", b"glcbt-0_glpat-")
    },
    **{
        f"masking by a runner: {piece!r}": Hostile(_masked_by_a_runner, repeated(piece, b""), 4000)
        for piece in (b"a", b"x", b"glpat-", b"glpat-a ", b"g")
    },
    "masking: a long value that almost stands at the end": Hostile(
        lambda size: _masked(b"a" * size, _value(size).encode()), lambda size: size
    ),
    "masking: a long value whose every end but the last byte stands at the end": Hostile(
        lambda size: _masked(b"a" * size + b"c", _value(size).encode()), lambda size: size
    ),
    "masking: a long value, over and over": Hostile(
        lambda size: _masked(b"a" * 2 * size, b"a" * size), lambda size: size, 4000
    ),
    "masking: the forms of a value": Hostile(lambda value: list(forms(value)), _value),
    "masking: the forms of a value of lines": Hostile(
        lambda value: list(forms(value)), lambda size: "\n".join(map(str, range(size, 10**8, 10**8 // size)))
    ),
}


def _variables(size: int, value: str, last: str = "") -> list[JobVariable]:
    return [*(JobVariable(f"A{n}", value.replace("%", str(n + 1))) for n in range(size)), JobVariable("A", last)]


VARIABLES: Final = {
    "variables: each names the next": Hostile(lambda given: expand(given), lambda size: _variables(size, "$A%")),
    "variables: each names one": Hostile(lambda given: expand(given), lambda size: _variables(size, "${A}b")),
    "variables: one names all": Hostile(
        lambda given: expand(given), lambda size: _variables(size, "a", "".join(f"$A{n}" for n in range(size)))
    ),
    "variables: one that goes back to itself": Hostile(
        lambda given: expand(given), lambda size: [JobVariable("A", "$A")] * size
    ),
    "variables: percent signs": Hostile(lambda given: expand(given), lambda size: _variables(1, "%a" * size)),
}


def _json(**entries: Any) -> Callable[[int], bytes]:
    ((name, entry),) = entries.items()
    return lambda size: json.dumps({name: [entry] * size}).encode()


DEEP: Final = {
    f"report of {kind}: deep JSON": Hostile(parse, lambda size: b"[" * size) for kind, parse in PARSERS.items()
}
MEMBERS: Final = {
    "coverage: a line that is searched behind each match": Hostile(
        lambda data: CoverageSearch("/(a*b)|c?/").look(data, is_first=True), lambda size: b"a" * size, 10_000
    ),
    "coverage: lines without a number": Hostile(
        lambda data: CoverageSearch("/cov.*?(\\d+)?/").look(data, is_first=True), lambda size: b"cov 1\n" * size, 10_000
    ),
    "report of tests: members of gzip": Hostile(parse_junit, lambda size: gzip.compress(b"<testsuite/>") * size, 400),
    "report of metrics: members of gzip": Hostile(PARSERS["metrics"], lambda size: gzip.compress(b"") * size, 400),
}
REPORTS: Final = {
    **DEEP,
    **MEMBERS,
    "report of tests: cases": Hostile(
        parse_junit, lambda size: b"<testsuite>" + b"<testcase name='n'/>" * size + b"</testsuite>"
    ),
    "report of tests: attributes": Hostile(
        parse_junit, lambda size: b"<testsuite " + b"".join(b"a%d='b' " % n for n in range(size)) + b"/>"
    ),
    "report of tests: a long text": Hostile(
        parse_junit,
        lambda size: b"<testsuite><testcase><failure>" + b"a&amp;" * size + b"</failure></testcase></testsuite>",
    ),
    "report of coverage: lines of one file": Hostile(
        PARSERS["cobertura"],
        lambda size: (
            b"<coverage><class filename='f'><lines>"
            + b"".join(b"<line number='%d' hits='1'/>" % n for n in range(size))
            + b"</lines></class></coverage>"
        ),
    ),
    "report of coverage: files": Hostile(
        PARSERS["jacoco"],
        lambda size: (
            b"<report><package name='p'>"
            + b"".join(b"<sourcefile name='f%d'><line nr='1' ci='1'/></sourcefile>" % n for n in range(size))
            + b"</package></report>"
        ),
    ),
    "report of metrics: samples": Hostile(PARSERS["metrics"], lambda size: b'a{b="}"} 1\n' * size),
    "report of metrics: one line": Hostile(PARSERS["metrics"], lambda size: b"a}" * size),
    "report of metrics: blanks": Hostile(PARSERS["metrics"], lambda size: b" " * size + b"\n" * size),
    "report of variables: lines": Hostile(PARSERS["dotenv"], lambda size: b"a=b\n" * size),
    "report of variables: a long key": Hostile(PARSERS["dotenv"], lambda size: b"a" * size + b"=b"),
    "report of code quality": Hostile(
        PARSERS["codequality"], lambda size: json.dumps([{"location": {}}] * size).encode()
    ),
    "report of security": Hostile(
        PARSERS["sast"],
        _json(vulnerabilities={"identifiers": [{"type": "a"}] * 30, "location": {"image": "a"}, "name": "a"}),
        100,
    ),
    "report of accessibility": Hostile(
        PARSERS["accessibility"], lambda size: json.dumps({"results": {"u": [{"type": "error"}] * size}}).encode()
    ),
    "report of Terraform": Hostile(
        PARSERS["terraform"], lambda size: json.dumps({"create": 1, **{f"a{n}": n for n in range(size)}}).encode()
    ),
    "report of links": Hostile(
        PARSERS["annotations"],
        _json(a={"external_link": {"label": "a", "url": "https://a/" + "b" * 100}}),
        200,
    ),
}


def _directory(size: int, name: Callable[[int], bytes], extra: bytes = b"", packed: int = 0) -> tuple[bytes, Extent]:
    entries = b""
    for number in range(size):
        text = name(number)
        entries += (
            ENTRY.pack(b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, packed, 0, len(text), len(extra), 0, 0, 0, 0, number * 200)
            + text
            + extra
        )
    return entries, Extent(size * 200, len(entries), size)


ARCHIVES: Final = {
    "archive: entries": Hostile(lambda found: read_entries(*found), lambda size: _directory(size, b"a%d".__mod__), 200),
    "archive: a long name": Hostile(
        lambda found: read_entries(*found), lambda size: _directory(1, lambda _: b"a/" * size), is_bounded=True
    ),
    "archive: fields of an entry": Hostile(
        lambda found: read_entries(*found),
        lambda size: _directory(1, lambda _: b"a", struct.pack("<2H", 2, 0) * size, 0xFFFFFFFF),
        is_bounded=True,
    ),
    "archive: ends without an archive": Hostile(
        lambda tail: locate(tail, len(tail)), lambda size: b"PK\x05\x06" * size
    ),
    "archive: a folder of many": Hostile(
        lambda found: folder_of(found, ""),
        lambda size: [Entry(f"{number}/b", 1, 1, 0, 0, 0, is_folder=False) for number in range(size)],
        is_bounded=True,
    ),
    "archive: the way to a deep folder": Hostile(trail_of, repeated("a/", ""), is_bounded=True),
    "log: beginnings of sections of the script": Hostile(
        script_times, lambda size: b"section_start:1:step_script[a" * size, is_bounded=True
    ),
    "log: where the script begins": Hostile(
        lambda text: BeginSearch().look(text), lambda size: b"section_start:1:step_script[a" * size
    ),
    "log: names of the script's section": Hostile(
        lambda text: BeginSearch().look(text), lambda size: b":step_script" * size
    ),
    "log: lines by their stamps": Hostile(
        lambda text: line_since(text, 1, b"9"), lambda size: b"2026-01-02T03:04:05.123456Z 00O+\n" * size
    ),
    "log: stamps of no line": Hostile(first_stamp, lambda size: b"\n2026-01-02T03:04:05.123456Z 00O" * size),
}


def _commit(message: str) -> bytes:
    return "\0".join((SHA, SHA, "a", "a@b", "1 +0000", "a", "a@b", "1 +0000", message)).encode()


def _part(data: bytes) -> object:
    reader = _Reader(b"b")
    for start in range(0, len(data), 4096):
        reader.write(data[start : start + 4096])
    return reader


FORM: Final = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
GIT_AND_HTTP: Final = {
    "diff: hunks": Hostile(hunks_of, lambda size: b"diff --git a b\n" + b"@@ -1 +1 @@\n-a\n+b\n" * size),
    "diff: no hunk": Hostile(hunks_of, lambda size: b"\n@@" * size),
    "patch: hunks": Hostile(read_patch, lambda size: "@@ -1 +1 @@\n-a\n+b\n" * size),
    "patch: one hunk": Hostile(read_patch, lambda size: "@@ -1,9999999999 +1,9999999999 @@\n" + "+\n-\n \n" * size),
    "patch: many ends": Hostile(read_patch, lambda size: "@@ -1 +1 @@\n-a\n+b\n" + "\\ No newline\n" * size),
    "patch: a long hunk and many ends": Hostile(
        read_patch, lambda size: f"@@ -0,0 +1,{size} @@\n" + "+\n" * size + "\\ No newline\n" * size
    ),
    "patch: heads": Hostile(read_patch, lambda size: "@@ -1,9 +1,9 @@ " * size),
    "line counts": Hostile(read_counts, lambda size: Completed(0, b"1\t1\ta\0" * size, "")),
    "line counts: renamed": Hostile(read_counts, lambda size: Completed(0, b"1\t1\t\0a\0b\0" * size, "")),
    "text: controls": Hostile(visible, lambda size: "\u202e\r\x00" * size),
    "text: deceiving": Hostile(deceives, lambda size: "\u202d" * size),
    "system note: items": Hostile(system_note, lambda size: "added\n\n<ul>" + "<li>a" * size),
    "commit: parents": Hostile(parse_commit, lambda size: _commit("").replace(SHA.encode(), b"5 " * size, 1)),
    "commit: lines": Hostile(parse_commit, lambda size: _commit("\n" * size + "a")),
    "push: refs of the answer": Hostile(
        reported, lambda size: packet(b"unpack ok\n") + packet(b"ok refs/heads/a\n") * size
    ),
    "push: side bands": Hostile(reported, lambda size: packet(b"\x01" + packet(b"unpack ok\n")) * size),
    "push: a long message": Hostile(
        lambda text: with_message(packet(b"\x01a") + b"0000", text), lambda size: "a\x01" * size
    ),
    "push: flushes": Hostile(reported, lambda size: b"0000" * size),
    "push: refusals": Hostile(_refusals, lambda size: "!\ta:b\tc\n" * size),
    "tree": Hostile(_entries, lambda size: b"".join(b"100644 a%d\0" % n + bytes(20) for n in range(size))),
    "tags of a component": Hostile(
        lambda tags: highest(tags, "~latest"), lambda size: [f"1.{n}.0" for n in range(size)]
    ),
    "form: entries of a list": Hostile(nested, lambda size: [("a[]", "b")] * size),
    "form: objects of a list": Hostile(nested, lambda size: [("a[][b]", "b")] * size),
    "form: fields of an object": Hostile(nested, lambda size: [(f"a[][b{n}]", "b") for n in range(size)]),
    "form: entries of a map": Hostile(nested, lambda size: [(f"a[{n}]", "b") for n in range(size)]),
    "form: brackets": Hostile(nested, lambda size: [("[" * size, "b"), ("[]" * size, "c")]),
    "upload: content that looks like its end": Hostile(_part, lambda size: FORM + b"\r\n--" * size),
    "upload: a long header": Hostile(_part, lambda size: b"--b\r\nContent-Disposition: " + b"a;" * size),
    "upload: headers": Hostile(_part, lambda size: b"--b\r\n" + b"a: b\r\n" * size),
    "upload: parts": Hostile(
        _part, lambda size: b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n' * size
    ),
}


_IN_MEMORY: Final = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else None
"""Where files cost their writer what they cost: a disk's journal is written for all who write, by whoever comes."""


def _unpacked(content: bytes) -> None:
    """A layer of an image."""
    with tempfile.TemporaryDirectory(dir=_IN_MEMORY) as name:
        packed = layer(Path(name) / "layer", content)
        root = Path(name) / "root"
        root.mkdir()
        Unpacking(root).unpack(packed, Compression.NONE)


STEPS: Final = {
    "step file: steps that follow one another": Hostile(
        _step_file, lambda size: "{}\n---\nrun:\n" + "".join(f"- {{name: s{n}, script: x}}\n" for n in range(size))
    ),
    "step file: inputs": Hostile(
        _step_file,
        lambda size: "spec:\n inputs:\n" + "".join(f"  i{n}: {{type: string}}\n" for n in range(size)) + "---\n{}",
    ),
    "step: values with expressions": Hostile(
        lambda written: rendered(written, Names()), lambda size: [{"a": "${{ 1 }}x"}] * size
    ),
    "step runner: a long sentence": Hostile(lambda text: shortened(text, 6_000), lambda size: "é" * size),
    "frames of a Docker Engine": Hostile(
        lambda data: list(Frames().take(data)), lambda size: b"\x01\0\0\0\0\0\0\x01x" * size
    ),
    "image: files": Hostile(_unpacked, lambda size: archive(*(entry(f"d/{n}", "x") for n in range(size))), 200),
    "image: folders": Hostile(_unpacked, lambda size: archive(*(folder(f"{n}") for n in range(size))), 200),
    "image: links": Hostile(_unpacked, lambda size: archive(*(link(f"l{n}", "a/../b") for n in range(size))), 200),
    "image: a long link": Hostile(_unpacked, lambda size: archive(link("l", "a/../" * size)), 20),
    "step: output file": Hostile(read_outputs, repeated(b'{"name":"a","value":1}\n', b""), 3_000, is_bounded=True),
}

HOSTILE: Final = CONFIGURATIONS | SMALL_TEXTS | LOGS | VARIABLES | REPORTS | ARCHIVES | GIT_AND_HTTP | STEPS | REQUESTS
