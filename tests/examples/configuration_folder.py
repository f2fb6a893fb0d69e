"""One folder of `examples/configs` as the world that a compilation asks: its tree, other projects, remote files.

`projects/<group>/<project>/` holds the trees of other projects (every ref of them is the same), `remote/<host>/` what
stands at addresses; neither is part of the folder's own tree.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from domain.config.compile import compile_config
from domain.config.context import Context, RefKind
from domain.config.plan import JobPlan, Plan, Variable
from domain.config.rounds import in_rounds
from domain.config.sources import (
    Absent,
    Answer,
    ChangedPaths,
    ComponentFile,
    Fetched,
    LocalFile,
    Origin,
    Paths,
    ProjectFile,
    RemoteFile,
    Request,
    TemplateFile,
    Tree,
)
from domain.variables.predefined import (EventFacts, MergeRequestFacts, pipeline_variables)
from includes import templates
from includes.components import read_address

MOMENT: Final = datetime(2031, 3, 4, 5, 6, 7, tzinfo=UTC)
SHA: Final = "4d7c0e" * 7
MAIN: Final = "main"
ELSEWHERE: Final = ("projects", "remote", "expected")
"""Folders that are not in the project's own tree."""
MERGE_REQUEST: Final = "merge_request_event"


@dataclass(frozen=True)
class ConfigurationFolder:
    """A folder with `.gitlab-ci.yml`, `events.json` and `expected/`."""

    path: Path

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """What happens to the project."""
        events: list[dict[str, Any]] = json.loads((self.path / "events.json").read_text())
        return events

    def plan(self, event: dict[str, Any]) -> Plan:
        """The plan of the main file. Raises `ConfigInvalid`, `PipelineFiltered`."""
        return self._compiled((self.path / ".gitlab-ci.yml").read_text(), event, self._context(event))

    def child_plan(self, event: dict[str, Any], bridge: JobPlan) -> Plan:
        """The plan of the child pipeline that a bridge starts, with the variables that it hands down."""
        assert bridge.trigger is not None
        text = json.dumps({"include": list(bridge.trigger.include)})
        handed = bridge.variables if bridge.trigger.forward_yaml_variables else {}
        return self._compiled(text, event, self._context({**event, "source": "parent_pipeline"}, handed))

    def answer(self, request: Request, changed: list[str] | None) -> Answer:
        """What there is in the folder; other files and trees are absent."""
        match request:
            case LocalFile(path, origin):
                return _file(self._top(origin.project) / path, origin)
            case ProjectFile(project, path, ref):
                return _file(self._top(project) / path, Origin(project, ref or MAIN))
            case ComponentFile(address):
                return self._component(address)
            case RemoteFile(url):
                return _file(self.path / "remote" / url.removeprefix("https://"), Origin(detached=True))
            case TemplateFile(name):
                text = templates.load(name)
                return Absent() if text is None else Fetched(text, Origin(detached=True))
            case Tree(origin, project):
                return self._tree(project or origin.project)
            case ChangedPaths():
                return Paths(tuple(changed or ()), known=changed is not None)
        return Absent()

    def _compiled(self, text: str, event: dict[str, Any], context: Context) -> Plan:
        return in_rounds(
            lambda known: compile_config(text, context, known),
            lambda request: self.answer(request, event["changed"]),
        )

    def _top(self, project: str) -> Path:
        return self.path / "projects" / project if project else self.path

    def _component(self, address: str) -> Answer:
        component = read_address(address)
        for path in component.paths:
            file = self._top(component.project) / path
            if file.exists():
                origin = Origin(component.project, SHA)
                return Fetched(file.read_text(), origin, SHA, component.version, component.name, component.version)
        return Absent()

    def _tree(self, project: str) -> Answer:
        top = self._top(project)
        if not top.exists():
            return Absent()
        paths = sorted(str(path.relative_to(top)) for path in top.rglob("*") if path.is_file())
        own = (path for path in paths if project or path.split("/")[0] not in ELSEWHERE)
        return Paths(tuple(own))

    def _context(self, event: dict[str, Any], handed: Any = None) -> Context:
        facts = _facts(f"demo/{self.path.name}", event)
        given = {name: Variable(value) for name, value in event["variables"].items()}
        return Context(
            source=event["source"],
            ref=event["ref"],
            ref_kind=RefKind(event["ref_kind"]),
            predefined={**pipeline_variables(facts), **event.get("predefined", {})},
            pipeline={**(handed or {}), **given},
            inputs=event["inputs"] if event["source"] != "parent_pipeline" else {},
            project_path=facts.project_path,
        )


def _file(path: Path, origin: Origin) -> Answer:
    return Fetched(path.read_text(), origin) if path.is_file() else Absent()


def _facts(project_path: str, event: dict[str, Any]) -> EventFacts:
    """What the server would know; `main` and tags are protected."""
    ref, kind = event["ref"], RefKind(event["ref_kind"])
    merge_request = MergeRequestFacts(iid=17, id=170, source_branch=ref, target_branch=MAIN, title=event["name"])
    return EventFacts(
        server_url="https://perdure.example",
        project_id=1,
        project_name=project_path,
        project_path=project_path,
        project_url=f"https://perdure.example/{project_path}",
        default_branch=MAIN,
        pipeline_iid=1,
        pipeline_source=event["source"],
        pipeline_created_at=MOMENT,
        ref=ref,
        is_tag=kind is RefKind.TAG,
        ref_protected=ref == MAIN or kind is RefKind.TAG,
        sha=SHA[:40],
        before_sha="0" * 40,
        commit_message="Change something",
        commit_author="Ada <ada@example.com>",
        commit_timestamp=MOMENT,
        user_id=1,
        user_login="ada",
        merge_request=merge_request if event["source"] == MERGE_REQUEST else None,
    )
