"""`perdure plan`."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console

from cli.configurations.offline import Outcome
from cli.configurations.plan_text import PlanText, event_text
from domain.config.context import Context, RefKind
from domain.config.plan import AutoCancel, Environment, ForeignNeed, Trigger, When
from domain.config.why import Clause, Why
from domain.errors import PipelineFiltered
from tests.cli.plans import absent, job, needs, outcome, plan
from tests.cli.running import run
from tests.git.serving import new_commit, new_work_tree

CONFIG = """stages: [build, test, deploy]
build: {stage: build, script: make}
unit: {script: make unit, needs: [build]}
docs: {script: make docs, rules: [{changes: [docs/*]}]}
release: {stage: deploy, script: make release, rules: [{if: $CI_COMMIT_TAG}]}
"""
HEAVY = frozenset({"sqlalchemy", "sqlmodel", "temporalio", "fastapi", "httpx", "aiohttp", "settings", "uvicorn"})


@pytest.fixture
async def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, a repository of two commits."""
    folder = tmp_path / "app"
    await new_work_tree(folder, {".gitlab-ci.yml": CONFIG})
    await new_commit(folder, {"docs/a": "a"})
    monkeypatch.chdir(folder)
    return folder


def planned(*words: str) -> dict[str, Any]:
    """The document of a plan, and its jobs as names."""
    ran = run("plan", "--json", *words)
    found = json.loads(ran.out)
    return {**found, "names": [one["name"] for one in found["jobs"]], "code": ran.code}


def test_a_push_of_what_is_checked_out(work: Path) -> None:
    found = planned()
    assert found["names"] == ["build", "unit", "docs"]
    assert [one["name"] for one in found["absent"]] == ["release"]
    assert (found["pipeline"]["source"], found["pipeline"]["ref"], found["code"]) == ("push", "main", 0)


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["--changed", "x"], ["build", "unit"]),
        (["--changed", "docs/b"], ["build", "unit", "docs"]),
        (["--ref", "v1", "--tag"], ["build", "unit", "docs", "release"]),
        (["--event", "schedule"], ["build", "unit", "docs"]),
        (["--event", "merge_request_event", "--ref", "dev", "--changed", "docs/b"], ["docs"]),
        (["--variable", "CI_COMMIT_TAG=v1"], ["build", "unit", "docs", "release"]),
        (["--event", "pipeline"], ["build", "unit", "docs"]),
    ],
)
def test_events(work: Path, words: list[str], names: list[str]) -> None:
    assert planned(*words)["names"] == names


def test_text_says_what_runs_and_why(work: Path) -> None:
    ran = run("plan", "--changed", "x")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].startswith("Pipeline for a push to main at ")
    assert "  ● unit  needs build" in lines
    assert "  ○ release  stage deploy" in lines
    assert "      rules[0] (.gitlab-ci.yml:5) → no  if: $CI_COMMIT_TAG" in lines
    assert "        CI_COMMIT_TAG is not defined" in lines
    assert lines[-1] == "✓ 2 jobs in 2 stages, 2 jobs not in this pipeline"


def test_an_empty_pipeline_still_says_why(work: Path) -> None:
    (work / "x.yml").write_text("a: {script: x, rules: [{if: $CI_COMMIT_TAG}]}\n")
    ran = run("plan", "x.yml")
    assert ran.code == 1
    assert "  ○ a  stage test" in ran.out.splitlines()
    assert "filtered_by_rules" in ran.out.splitlines()[-1]
    found = planned("x.yml")
    assert (found["pipeline"]["status"], found["pipeline"]["failure_reason"]) == (None, "filtered_by_rules")
    assert found["errors"][0]["message"]


def test_errors_are_the_same_document(work: Path) -> None:
    (work / "x.yml").write_text("a: {scirpt: x}\n")
    found = planned("x.yml")
    assert (found["code"], found["jobs"], found["pipeline"]["failure_reason"]) == (2, [], "config_error")
    assert found["errors"][0]["line"] == 1
    ran = run("plan", "x.yml")
    assert ran.out.startswith("x.yml:1:")
    assert ran.out.splitlines()[-1].startswith("✗ ")


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ([], "skipped"),
        (["--event", "merge_request_event"], "skipped"),
        (["--event", "schedule"], "created"),
        (["--message", "plain"], "created"),
    ],
)
async def test_a_commit_that_wants_no_pipeline(work: Path, words: list[str], status: str) -> None:
    (work / ".gitlab-ci.yml").write_text("a: {script: x, rules: [{when: always}]}\n")
    await new_commit(work, {}, "Words [skip ci]")
    found = planned(*words)
    assert found["pipeline"]["status"] == status
    assert (found["names"], [one["name"] for one in found["absent"]]) == (
        ([], ["a"]) if status == "skipped" else (["a"], [])
    )
    assert found["code"] == 0


def test_mermaid_goes_to_standard_output(work: Path) -> None:
    ran = run("plan", "--graph", "mermaid")
    assert ran.out.startswith("flowchart LR\n")
    assert "n0 --> n1" in ran.out


def test_a_picture_goes_to_a_file(work: Path) -> None:
    ran = run("plan", "--graph", "out.svg")
    assert (ran.out, ran.err) == ("", "Wrote out.svg.\n")
    assert ElementTree.parse("out.svg").getroot().get("aria-label") == "Pipeline for a push to main"
    assert json.loads(run("plan", "--graph", "out.mmd", "--json").out)["stages"] == ["build", "test"]
    assert Path("out.mmd").read_text().startswith("flowchart")


def test_the_merged_configuration(work: Path) -> None:
    (work / "more.yml").write_text(".base: {tags: [x]}\n")
    (work / "x.yml").write_text("include: more.yml\na: {extends: .base, script: x}\n")
    ran = run("plan", "x.yml", "--merged")
    assert ran.code == 0
    assert "tags:" in ran.out
    assert "include" not in ran.out
    (work / "more.yml").write_text(".base: {tag: [x]}\n")
    ran = run("plan", "x.yml", "--merged")
    assert (ran.code, ran.out) == (2, "")
    assert "unknown keys: tag" in ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--graph", "out.png"], "neither `mermaid` nor a file that ends in .svg or .mmd"),
        (["--graph", "none/out.svg"], "cannot be written to none/out.svg"),
        (["--json", "--merged"], "--json and --merged both print"),
        (["--graph", "mermaid", "--json"], "both print to standard output"),
        (["--event", "cron"], "'cron' is not one of"),
        (["--variable", "x"], "is not NAME=VALUE"),
        (["--base", "nowhere"], "no branch, tag or commit"),
    ],
)
def test_wrong_options(work: Path, words: list[str], said: str) -> None:
    ran = run("plan", *words)
    assert (ran.code, ran.out) == (2, "")
    assert said in " ".join(ran.err.split()).replace("│ ", "")


def test_a_plan_loads_nothing_of_the_server(work: Path) -> None:
    code = (
        "import sys, cli.main\nsys.argv = ['perdure', 'plan']\n"
        "try: cli.main.main()\nexcept SystemExit: pass\nprint(*sys.modules, file=sys.stderr)"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines()[-1].startswith("✓ ")
    assert not HEAVY & set(done.stderr.split())


def text_of(made: Outcome) -> list[str]:
    """What the terminal shows."""
    console = Console(width=100, color_system=None, highlight=False)
    with console.capture() as capture:
        PlanText(made, console).show()
    return capture.get().splitlines()


def test_what_is_special_about_a_job_is_said() -> None:
    jobs = (
        job("a", needs=()),
        job("b", when=When.MANUAL, allow_failure=True),
        job("c", when=When.DELAYED, start_in=5400),
        job("d", trigger=Trigger("g/p"), needs=needs("a", optional=True)),
        job("e", allow_failure_exit_codes=(7,), environment=Environment("prod")),
        job("f", needs=needs(*(f"n{at}" for at in range(10)))),
        job("g", needs=(), foreign_needs=(ForeignNeed(job="x", project="g/p"),)),
    )
    lines = text_of(outcome(plan(*jobs)))
    assert "  ● a  starts at once" in lines
    assert "  ⚙ b  manual  may fail" in lines
    assert "  ◷ c  delayed by 1 hour 30 minutes" in lines
    assert "  ⇢ d  triggers g/p  needs a (optional)" in lines
    assert "  ● e  may fail with exit code 7  start environment prod" in lines
    assert "  ● f  needs n0, n1, n2, n3, n4, n5, n6, n7 and 2 more" in lines
    assert "  ● g  needs x of g/p" in lines


def test_jobs_of_one_reason_share_it() -> None:
    why = Why(included=True, clause="rules[0]", text="`rules[0]` matched", tried=(Clause("rules[0]", True, "if: $A"),))
    lines = text_of(outcome(plan(job("a", why=why), job("b", why=why), job("c"))))
    assert lines.count("    ↳ these 2: `rules[0]` matched") == 1
    assert lines.count("      rules[0] → yes  if: $A") == 1


def test_the_heading_tells_what_is_unusual() -> None:
    workflow = Why(True, "workflow:rules[0]", "`workflow:rules[0]` matched", (Clause("workflow:rules[0]", True),))
    made = plan(job("a"), name="Nightly", auto_cancel=AutoCancel(on_job_failure="all"), why=workflow)
    lines = text_of(outcome(made))
    assert lines[:4] == [
        "Pipeline for a push to main at 01234567",
        "  name        Nightly",
        "  workflow    `workflow:rules[0]` matched",
        "  auto-cancel on_job_failure: all",
    ]


def test_a_filtered_pipeline_shows_no_job_that_would_not_run() -> None:
    left = plan(job("edge", ".pre"), absent=(absent("b"),))
    lines = text_of(outcome(left, error=PipelineFiltered("empty", "filtered_by_rules", left)))
    assert not any("edge" in line for line in lines)
    assert lines[-1] == "○ There is no pipeline (filtered_by_rules): empty"


@pytest.mark.parametrize(
    ("context", "words"),
    [
        (Context(ref="v1", ref_kind=RefKind.TAG), "a push to tag v1"),
        (
            Context("merge_request_event", "dev", predefined={"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main"}),
            "a merge request from dev into main",
        ),
        (Context("schedule"), "a schedule on main"),
    ],
)
def test_the_event_in_words(context: Context, words: str) -> None:
    assert event_text(context) == words


def test_hostile_names_do_not_steer_the_terminal() -> None:
    text = "\n".join(text_of(outcome(plan(job("\x1b[31m[red]x[/red]")))))
    assert "\x1b" not in text
    assert "[red]x[/red]" in text
