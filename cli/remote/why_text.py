"""Why jobs are in a pipeline or not, as text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cli.printable import printable


def why_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """The lines for the document of a whole pipeline."""
    if document["pipeline"]:
        yield f"The pipeline: {_sentence(document['pipeline'])}"
        yield from _clauses(document["pipeline"])
    if explanation := document["explanation"]:
        yield from _explained(explanation)
        yield from (f"    {printable(line)}" for line in explanation["facts"]["faults"])
    yield from _group("Jobs", document["jobs"])
    yield from _group("Not in this pipeline", document["absent"])
    for warning in document["warnings"]:
        yield f"Warning: {_warning(warning)}"


def job_lines(reason: Mapping[str, Any]) -> Iterator[str]:
    """The lines for one job."""
    stage = f"  (stage {printable(reason['stage'])})" if reason["stage"] else ""
    yield f"  {printable(reason['name'])}{stage}"
    if explanation := reason.get("explanation"):
        yield from _explained(explanation)
    if reason["why"]:
        yield f"    {_sentence(reason['why'])}"
        yield from _clauses(reason["why"])
    for sentence in reason["left_out"]:
        yield f"    {printable(sentence)}"


def _explained(explanation: Mapping[str, Any]) -> Iterator[str]:
    yield f"    {printable(explanation['text'])}"
    if explanation["next_step"]:
        yield f"    Next: {printable(explanation['next_step'])}"


def _group(heading: str, reasons: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if reasons:
        yield f"{heading}: {len(reasons)}"
    for reason in reasons:
        yield from job_lines(reason)


def _warning(warning: Mapping[str, Any]) -> str:
    place = f"{warning['file']}:{warning['line']}: " if warning.get("file") and warning.get("line") else ""
    return printable(f"{place}{warning['message']}")


def _sentence(why: Mapping[str, Any]) -> str:
    return printable(str(why.get("text") or why.get("clause") or ""))


def _clauses(why: Mapping[str, Any]) -> Iterator[str]:
    """Of what is in only the clause that decided, of the rest all that were looked at."""
    tried = why.get("tried") or []
    for clause in tried[-1:] if why.get("included") else tried:
        verdict = "yes" if clause.get("matched") else "no"
        place = f" ({clause['file']}:{clause['line']})" if clause.get("line") and clause.get("file") else ""
        expression = printable(clause.get("expression") or "")
        yield f"      {printable(clause['name'] + place)} -> {verdict}  {expression}".rstrip()
        seen = [f"{name} = {value!r}" for name, value in (clause.get("values") or {}).items()]
        seen += [clause["detail"]] if clause.get("detail") else []
        if seen:
            yield f"        {printable('; '.join(seen))}"
