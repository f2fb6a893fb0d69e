"""Every template compiles, for the events that it is made for."""

from collections.abc import Iterable, Mapping

import pytest

from domain.config.compile import compile_config
from domain.config.context import Context, RefKind
from domain.config.plan import Plan
from domain.config.rounds import in_rounds
from domain.config.sources import Absent, Answer, Fetched, Origin, Paths, Request, TemplateFile, Tree
from domain.errors import PipelineFiltered
from includes.templates import ENDING, load, names

BRANCH = {"CI_COMMIT_BRANCH": "main", "CI_DEFAULT_BRANCH": "main", "CI_PIPELINE_SOURCE": "push"}
FEATURE = BRANCH | {"CI_COMMIT_BRANCH": "feature"}
REQUEST = {"CI_DEFAULT_BRANCH": "main", "CI_PIPELINE_SOURCE": "merge_request_event"}
TAG = {"CI_COMMIT_TAG": "v1", "CI_DEFAULT_BRANCH": "main", "CI_PIPELINE_SOURCE": "push"}
LICENSED = {"GITLAB_FEATURES": "dependency_scanning,coverage_fuzzing"}
ONE_JOB = "\njob: {script: make}\n"
SCANNERS = {
    "SAST": {"semgrep-sast", "bandit-sast"},
    "Secret-Detection": {"secret_detection"},
    "Dependency-Scanning": {"gemnasium-python-dependency_scanning"},
    "Container-Scanning": {"container_scanning"},
}


def plan_of(text: str, variables: Mapping[str, str], paths: Iterable[str] = (), *, every_job: bool = False) -> Plan:
    """Compile with the templates that ship and a tree of these paths."""
    is_request = variables["CI_PIPELINE_SOURCE"] == "merge_request_event"
    kind = RefKind.MERGE_REQUEST if is_request else RefKind.TAG if "CI_COMMIT_TAG" in variables else RefKind.BRANCH
    context = Context(source=variables["CI_PIPELINE_SOURCE"], ref_kind=kind, predefined=variables)

    def answer(request: Request) -> Answer:
        if isinstance(request, TemplateFile):
            found = load(request.name)
            return Absent() if found is None else Fetched(found, Origin(detached=True))
        return Paths(tuple(paths)) if isinstance(request, Tree) else Absent()

    return in_rounds(lambda known: compile_config(text, context, known, every_job=every_job), answer)


def jobs_of(template: str, variables: Mapping[str, str], *paths: str) -> set[str]:
    """Names of the jobs that a template makes."""
    try:
        plan = plan_of(f"include: [{{template: {template}{ENDING}}}]", variables, paths)
    except PipelineFiltered:
        return set()
    return {job.name for job in plan.jobs}


@pytest.mark.parametrize("name", names())
def test_every_job_of_every_template_compiles_without_warning(name: str) -> None:
    plan = plan_of(f"include: [{{template: {name}}}]{ONE_JOB}", BRANCH, every_job=True)
    assert "job" in {job.name for job in plan.jobs}
    hosted = [warning for warning in plan.warnings if "hosts no pages yet" in warning.message]
    assert plan.warnings == tuple(hosted)
    assert bool(hosted) == name.startswith("Pages/")


def test_auto_devops_runs_what_the_files_call_for() -> None:
    files = ("Dockerfile", "pyproject.toml", "uv.lock", "src/a.py", "chart/Chart.yaml")
    everywhere = {
        "build",
        "test-python",
        "code_quality",
        "semgrep-sast",
        "bandit-sast",
        "secret_detection",
        "container_scanning",
    }
    with_cluster = {"KUBECONFIG": "/path"}
    assert jobs_of("Auto-DevOps", BRANCH, *files) == everywhere
    assert jobs_of("Auto-DevOps", BRANCH | with_cluster, *files) == everywhere | {"production"}
    assert jobs_of("Auto-DevOps", FEATURE | with_cluster, *files) == everywhere | {"review", "stop_review"}
    staged = BRANCH | with_cluster | {"STAGING_ENABLED": "true"}
    assert jobs_of("Auto-DevOps", staged, *files) == everywhere | {"staging", "production"}
    assert jobs_of("Auto-DevOps", BRANCH, "Makefile") == {"test", "code_quality", "secret_detection"}


@pytest.mark.parametrize("folder", ["Jobs", "Security"])
@pytest.mark.parametrize("kind", SCANNERS)
def test_scanners_run_once_for_a_change(folder: str, kind: str) -> None:
    stable, latest = f"{folder}/{kind}", f"{folder}/{kind}.latest"
    files = ("src/a.py", "requirements.txt")
    expected = SCANNERS[kind]
    branch, request = FEATURE | LICENSED, REQUEST | LICENSED
    with_request = branch | {"CI_OPEN_MERGE_REQUESTS": "group/app!1"}
    assert jobs_of(stable, branch, *files) == jobs_of(latest, branch, *files) == expected
    assert (jobs_of(stable, request, *files), jobs_of(latest, request, *files)) == (set(), expected)
    assert (jobs_of(stable, with_request, *files), jobs_of(latest, with_request, *files)) == (expected, set())
    text = f"include: [{{template: {latest}{ENDING}}}]\nvariables: {{AST_ENABLE_MR_PIPELINES: 'false'}}"
    assert {job.name for job in plan_of(text, with_request, files).jobs} == expected


LICENSED_ONLY: Mapping[str, tuple[set[str], set[str]]] = {
    "Auto-DevOps": (set(), SCANNERS["Dependency-Scanning"]),
    "Jobs/Dependency-Scanning": (set(), SCANNERS["Dependency-Scanning"]),
    "Security/Dependency-Scanning": (set(), SCANNERS["Dependency-Scanning"]),
    "Security/Coverage-Fuzzing": ({"coverage_fuzzing_unlicensed"}, {"fuzz"}),
}
"""What GitLab asks a licence for: the jobs only without it, and only with it. No other template asks for one."""


@pytest.mark.parametrize("edition", ["", ".latest"])
@pytest.mark.parametrize("name", [name.removesuffix(ENDING) for name in names() if ".latest" not in name])
def test_only_what_gitlab_asks_a_licence_for_asks_for_gitlab_features(name: str, edition: str) -> None:
    if f"{name}{edition}{ENDING}" not in names():
        return
    text = f"include: [{{template: {name}{edition}{ENDING}}}]{ONE_JOB}fuzz: {{extends: .fuzz_base, script: [x]}}\n"
    text = text if "Fuzzing" in name else text.partition("fuzz:")[0]
    found = [
        {job.name for job in plan_of(text, BRANCH | more, ("src/a.py", "requirements.txt", "Dockerfile")).jobs}
        for more in ({}, LICENSED)
    ]
    without, licensed = LICENSED_ONLY.get(name, (set(), set()))
    assert (found[0] - found[1], found[1] - found[0]) == (without, licensed)


@pytest.mark.parametrize(
    ("template", "variable"),
    [
        ("Jobs/Build", "BUILD_DISABLED"),
        ("Jobs/Test", "TEST_DISABLED"),
        ("Jobs/Code-Quality", "CODE_QUALITY_DISABLED"),
        ("Jobs/SAST", "SAST_DISABLED"),
        ("Jobs/Secret-Detection", "SECRET_DETECTION_DISABLED"),
        ("Jobs/Dependency-Scanning", "DEPENDENCY_SCANNING_DISABLED"),
        ("Jobs/Container-Scanning", "CONTAINER_SCANNING_DISABLED"),
    ],
)
def test_everything_can_be_turned_off(template: str, variable: str) -> None:
    files = ("Dockerfile", "requirements.txt", "src/a.py")
    assert jobs_of(template, BRANCH | LICENSED, *files)
    for value in ("true", "1"):
        assert jobs_of(template, BRANCH | LICENSED | {variable: value}, *files) == set()


@pytest.mark.parametrize(
    ("template", "excluded", "left"),
    [
        ("Jobs/SAST", {"SAST_EXCLUDED_ANALYZERS": "bandit, gosec"}, {"semgrep-sast"}),
        (
            "Jobs/SAST",
            {"GITLAB_ADVANCED_SAST_ENABLED": "true"},
            {"semgrep-sast", "gitlab-advanced-sast", "bandit-sast"},
        ),
        ("Jobs/Dependency-Scanning", {"DS_EXCLUDED_ANALYZERS": "gemnasium-python"}, {"gemnasium-dependency_scanning"}),
        (
            "Jobs/Dependency-Scanning",
            {"DS_EXCLUDED_ANALYZERS": "gemnasium, gemnasium-maven"},
            {"gemnasium-python-dependency_scanning"},
        ),
    ],
)
def test_single_analyzers(template: str, excluded: dict[str, str], left: set[str]) -> None:
    variables = "".join(f"\n  {name}: '{value}'" for name, value in excluded.items())
    plan = plan_of(
        f"include: [{{template: {template}{ENDING}}}]\nvariables:{variables}",
        BRANCH | LICENSED,
        ("src/a.py", "requirements.txt", "yarn.lock"),
    )
    assert {job.name for job in plan.jobs} == left


def test_workflows_choose_the_events() -> None:
    for name, events in (
        ("MergeRequest-Pipelines", (BRANCH, REQUEST, TAG)),
        ("Branch-Pipelines", (BRANCH, FEATURE, TAG)),
    ):
        for variables in (BRANCH, FEATURE, REQUEST, TAG):
            text = f"include: [{{template: Workflows/{name}{ENDING}}}]\njob: {{script: x, rules: [{{when: always}}]}}"
            try:
                made = bool(plan_of(text, variables).jobs)
            except PipelineFiltered:
                made = False
            assert made == (variables in events), (name, variables)


def test_jobs_extend_the_hidden_ones_of_terraform_and_fuzzing() -> None:
    text = f"""
include: [{{template: Terraform/Base{ENDING}}}, {{template: Security/Coverage-Fuzzing{ENDING}}}]
fmt: {{extends: ".terraform:fmt"}}
validate: {{extends: ".terraform:validate"}}
plan: {{extends: ".terraform:build"}}
apply: {{extends: ".terraform:deploy", dependencies: [plan], environment: {{name: $TF_STATE_NAME}}}}
destroy: {{extends: ".terraform:destroy"}}
fuzz: {{extends: .fuzz_base, script: [./fuzz corpus]}}
"""
    plan = plan_of(text, BRANCH | LICENSED)
    assert plan.stages == ("build", "test", "deploy", "fuzz")
    assert {job.name for job in plan.jobs} == {"fmt", "validate", "plan", "apply", "destroy", "fuzz"}
    assert {job.name for job in plan.jobs if job.when == "manual"} == {"apply", "destroy"}
