"""Issues of a configuration in the terminal: where, what, and the line with a caret under the place."""

from collections.abc import Mapping, Sequence
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from cli.configurations.offline import Outcome
from cli.printable import printable
from domain.config.issue import ConfigIssue
from domain.config.reading.excerpt import cropped
from domain.config.sources import ComponentFile, Fetched, LocalFile, ProjectFile, RemoteFile, Request, TemplateFile

_SHORT_SHA: Final = 8


class IssueText:
    """Shows issues with excerpts of the files they are in; a file is split into lines once."""

    def __init__(self, outcome: Outcome, console: Console) -> None:
        """Know the main file and all included ones."""
        self._console = console
        self._texts = {outcome.file.lower(): outcome.text}
        for request, answer in outcome.known.items():
            if isinstance(answer, Fetched):
                self._texts.setdefault(_name(request).lower(), answer.text)
        self._lines: dict[str, Sequence[str]] = {}

    def show(self, issues: Sequence[ConfigIssue], label: str, style: str) -> None:
        """Print issues one below the other; `label` is a word as `error`, also for those who see no colours."""
        for issue in issues:
            where = f"{issue.file}:{issue.line}:{issue.column}: " if issue.line else f"{issue.file}: "
            text = Text.assemble((printable(where), "bold"), (f"{label}: ", style), printable(issue.message))
            self._console.print(text, soft_wrap=True)
            for line in self._excerpt(issue, style):
                self._console.print(line, soft_wrap=True)

    def _excerpt(self, issue: ConfigIssue, style: str) -> Sequence[Text]:
        """The line and a caret; nothing where the place or the text is not known."""
        if issue.excerpt:
            return tuple(_styled(printable(line), style) for line in issue.excerpt.split("\n"))
        lines = self._lines_of(issue.file)
        if not 0 < issue.line <= len(lines):
            return ()
        line, column = cropped(lines[issue.line - 1], max(1, issue.column))
        margin = f"{issue.line:>6} | "
        offset = cell_len(printable(line[: column - 1]))
        return (
            Text.assemble((margin, "dim"), printable(line)),
            Text.assemble((" " * (len(margin) - 2) + "| ", "dim"), " " * offset, ("^", style)),
        )

    def _lines_of(self, file: str) -> Sequence[str]:
        if file not in self._lines:
            self._lines[file] = self._texts.get(file.lower(), "").split("\n")
        return self._lines[file]


def _styled(line: str, style: str) -> Text:
    """A line of a ready excerpt; that with the caret has no number."""
    margin, bar, content = line.partition(" | ")
    return Text.assemble((margin + bar, "dim"), (content, "" if margin.strip() else style))


def _name(request: Request) -> str:
    """What issues call the file that answers a request (`domain.config.including.include_files` gives the names)."""
    match request:
        case LocalFile(path=path, origin=origin):
            return f"{origin.project}@{origin.sha[:_SHORT_SHA]}:{path}" if origin.project else path
        case ProjectFile(project=project, path=path, ref=ref):
            return f"{project}@{ref}:{path}" if ref else f"{project}:{path}"
        case TemplateFile(name=name):
            return f"template:{name}"
        case RemoteFile(url=text) | ComponentFile(address=text):
            return text
        case _:
            return ""


def counted(counts: Mapping[str, int]) -> str:
    """Numbers with their nouns: `2 errors, 1 warning`; those that are zero are left out."""
    words = [f"{number} {noun}{'' if number == 1 else 's'}" for noun, number in counts.items() if number]
    return ", ".join(words)
