"""The templates that ship: found by exact name only, readable, and made of what the product knows."""

import ast
import re
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from domain.config.keywords import BRIDGE, JOB, REPORTS, TOP
from domain.config.reading.issues import Issues
from domain.config.reading.source import read
from includes.templates import ENDING, load, names


class _Loader(yaml.SafeLoader):
    """Reads `!reference` as a list."""


def _sequence(loader: _Loader, node: yaml.SequenceNode) -> list[Any]:
    return loader.construct_sequence(node)


_Loader.add_constructor("!reference", _sequence)


def content(name: str) -> dict[str, Any]:
    """A template as plain values."""
    text = load(name)
    assert text is not None
    found: dict[str, Any] = yaml.load(text, _Loader)
    return found


def with_includes(name: str) -> dict[str, Any]:
    """The jobs of a template and of those that it includes; the including one wins."""
    own = content(name)
    below: dict[str, Any] = {}
    for entry in own.get("include", []):
        below |= with_includes(entry["template"])
    return below | {key: {**below.get(key, {}), **value} for key, value in own.items() if isinstance(value, dict)}


def jobs(template: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every job, hidden ones too."""
    return ((name, job) for name, job in template.items() if name not in TOP)


def scripts(name: str) -> Iterator[tuple[str, str]]:
    """Every script as one text, as a runner's shell gets it."""
    for job, config in jobs(content(name)):
        for key in ("before_script", "script"):
            lines = config.get(key, [])
            if lines:
                yield f"{job}:{key}", "\n".join(line for line in lines if isinstance(line, str))


def test_names_that_people_include() -> None:
    expected = {
        "Auto-DevOps",
        "Code-Quality",
        "Docker",
        "Getting-Started",
        "Go",
        "Jobs/Build",
        "Jobs/Code-Quality",
        "Jobs/Deploy",
        "Jobs/Test",
        "Nodejs",
        "Pages/HTML",
        "Python",
        "Rust",
        "Security/Coverage-Fuzzing",
        "Security/Coverage-Fuzzing.latest",
        "Terraform/Base",
        "Workflows/Branch-Pipelines",
        "Workflows/MergeRequest-Pipelines",
    }
    scanners = ("SAST", "Secret-Detection", "Dependency-Scanning", "Container-Scanning")
    expected |= {
        f"{folder}/{kind}{age}" for folder in ("Jobs", "Security") for kind in scanners for age in ("", ".latest")
    }
    assert set(names()) == {name + ENDING for name in expected}


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "Jobs",
        "Jobs/",
        "Python",
        "/Python.gitlab-ci.yml",
        "./Python.gitlab-ci.yml",
        "Jobs/../Python.gitlab-ci.yml",
        "Jobs//Build.gitlab-ci.yml",
        "../templates/Python.gitlab-ci.yml",
        "../__init__.py",
        "Python.gitlab-ci.yml\0",
        "python.gitlab-ci.yml",
    ],
)
def test_only_exact_names_are_found(name: str) -> None:
    assert load(name) is None


@pytest.mark.parametrize("name", names())
def test_every_template_is_read_without_issue(name: str) -> None:
    issues = Issues(name)
    text = load(name)
    assert text is not None
    read(text, issues)
    assert len(issues) == 0
    assert text.startswith("# ")


@pytest.mark.parametrize("name", names())
def test_every_included_template_exists(name: str) -> None:
    for entry in content(name).get("include", []):
        assert entry["template"] in names()


@pytest.mark.parametrize("name", names())
def test_jobs_are_whole(name: str) -> None:
    template = with_includes(name)
    for job, config in jobs(template):
        if job.endswith("-files"):
            continue
        assert set(config) <= JOB | BRIDGE, job
        bases = config.get("extends", [])
        chain = [template[base] for base in ([bases] if isinstance(bases, str) else bases)]
        assert set((config.get("artifacts") or {}).get("reports") or {}) <= REPORTS, job
        if not job.startswith("."):
            assert any("script" in part for part in [config, *chain]) or chain, job


@pytest.mark.parametrize("name", names())
def test_references_lead_somewhere(name: str) -> None:
    text, template = load(name), with_includes(name)
    assert text is not None
    for path in re.findall(r"!reference \[([^\]]+)\]", text):
        value: Any = template
        for key in path.split(", "):
            value = value[key]
        assert value


@pytest.mark.parametrize("name", names())
def test_scripts_are_right_for_a_plain_shell(name: str) -> None:
    for place, script in scripts(name):
        done = subprocess.run(["sh", "-n"], input=script, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), place


def test_program_in_code_quality_is_python() -> None:
    (script,) = (text for place, text in scripts("Jobs/Code-Quality.gitlab-ci.yml") if place == "code_quality:script")
    program = re.search(r"<<'END'\n(.*)\nEND\n", script, re.DOTALL)
    assert program
    ast.parse(program[1])


@pytest.mark.parametrize(
    ("name", "job", "report"),
    [
        ("Jobs/SAST", ".sast-analyzer", "sast"),
        ("Jobs/Secret-Detection", ".secret-analyzer", "secret_detection"),
        ("Jobs/Dependency-Scanning", "dependency_scanning", "dependency_scanning"),
        ("Jobs/Container-Scanning", "container_scanning", "container_scanning"),
        ("Jobs/Code-Quality", "code_quality", "codequality"),
    ],
)
def test_scanners_write_the_report_that_they_hand_in(name: str, job: str, report: str) -> None:
    artifacts = content(name + ENDING)[job]["artifacts"]
    file = artifacts["reports"][report]
    assert file in artifacts["paths"]
    written = [text for _, text in scripts(name + ENDING) if file in text]
    assert written


@pytest.mark.parametrize(
    ("name", "overridden"),
    [
        ("Security/SAST", ["sast", "semgrep-sast", "gitlab-advanced-sast", "bandit-sast", "kubesec-sast"]),
        ("Security/Secret-Detection", ["secret_detection"]),
        ("Security/Dependency-Scanning", ["dependency_scanning", "gemnasium-dependency_scanning"]),
        ("Security/Container-Scanning", ["container_scanning"]),
        ("Jobs/Code-Quality", ["code_quality"]),
        ("Security/Coverage-Fuzzing.latest", [".fuzz_base"]),
        ("Auto-DevOps", ["build", "test", "code_quality", "sast", "secret_detection", "production", "review"]),
    ],
)
def test_jobs_that_people_override_are_there(name: str, overridden: list[str]) -> None:
    assert set(overridden) <= set(with_includes(name + ENDING))


@pytest.mark.parametrize("name", [name for name in names() if ".latest." in name])
def test_latest_ones_also_run_for_merge_requests(name: str) -> None:
    text = load(name)
    assert text is not None
    if "include:" in text and "rules:" not in text:
        (entry,) = content(name)["include"]
        assert ".latest." in entry["template"]
        return
    stable = with_includes(name.replace(".latest", ""))
    for job, config in jobs(content(name)):
        conditions = [rule.get("if") for rule in config["rules"] if isinstance(rule, dict)]
        assert any('$CI_PIPELINE_SOURCE == "merge_request_event"' in str(one) for one in conditions)
        assert job in stable
