"""`artifacts`: what each form gives, and what is said about wrong ones."""

import pytest

from domain.config.keywords import REPORTS
from domain.config.plan import Artifacts, CoverageReport
from domain.config.readers.artifacts import read_artifacts
from tests.domain.config.reading.fields import given, refused


@pytest.mark.parametrize(
    ("text", "artifacts"),
    [
        ("{}", Artifacts()),
        ("{paths: [a], exclude: [b], untracked: true, name: n}", Artifacts(("a",), ("b",), untracked=True, name="n")),
        ("{when: on_failure, expire_in: 1 week}", Artifacts(when="on_failure", expire_in="1 week")),
        ("{expire_in: '90'}", Artifacts(expire_in="90")),
        ("{expire_in: Never}", Artifacts(expire_in="never")),
        ("{access: maintainer}", Artifacts(access="maintainer")),
        ("{access: none}", Artifacts(access="none")),
        ("{public: true}", Artifacts()),
        ("{public: false}", Artifacts(access="developer")),
        ("{public: false, access: null}", Artifacts(access="developer")),
        ("{paths: [a/b], expose_as: My files-1_2}", Artifacts(("a/b",), expose_as="My files-1_2")),
        ("{reports: {dotenv: build.env}}", Artifacts(reports={"dotenv": ("build.env",)})),
        ("{reports: {junit: [a, b], sast: null}}", Artifacts(reports={"junit": ("a", "b")})),
        (
            "{reports: {coverage_report: {coverage_format: jacoco, path: c.xml}}}",
            Artifacts(coverage_report=CoverageReport("jacoco", "c.xml")),
        ),
        (
            "{reports: {sarif: a, coverage_report: {coverage_format: cobertura, path: c}}}",
            Artifacts(reports={"sarif": ("a",)}, coverage_report=CoverageReport("cobertura", "c")),
        ),
    ],
)
def test_given(text: str, artifacts: Artifacts) -> None:
    assert given(read_artifacts, "artifacts", text) == artifacts


def test_every_kind_of_report_is_read() -> None:
    kinds = sorted(REPORTS - {"coverage_report"})
    found = given(read_artifacts, "artifacts", f"{{reports: {{{', '.join(f'{kind}: r' for kind in kinds)}}}}}")
    assert found.reports == dict.fromkeys(kinds, ("r",))


BAD_NAME = "artifacts expose as can contain only letters, digits, '-', '_' and spaces"
REPORT = "artifacts:reports:coverage_report"


@pytest.mark.parametrize(
    ("text", "line", "path", "message"),
    [
        ("a", 1, "artifacts", "artifacts config should be a hash"),
        ("{\n path: [a]}", 2, "artifacts", "artifacts config contains unknown keys: path; did you mean `paths`?"),
        ("{paths: a}", 1, "artifacts:paths", "artifacts paths should be an array of strings"),
        ("{exclude: [1]}", 1, "artifacts:exclude", "artifacts exclude should be an array of strings"),
        ("{untracked: a}", 1, "artifacts:untracked", "artifacts untracked should be a boolean value"),
        ("{name: [a]}", 1, "artifacts:name", "artifacts name should be a string"),
        (
            "{when: manual}",
            1,
            "artifacts:when",
            "artifacts when should be one of: on_success, on_failure, always",
        ),
        ("{\n expire_in: '7 tides'}", 2, "artifacts:expire_in", "artifacts expire in should be a duration"),
        ("{expire_in: soon}", 1, "artifacts:expire_in", "artifacts expire in should be a duration"),
        (
            "{access: maintainers}",
            1,
            "artifacts:access",
            "artifacts access should be one of: none, developer, maintainer, all; did you mean `maintainer`?",
        ),
        ("{public: a}", 1, "artifacts:public", "artifacts public should be a boolean value"),
        (
            "{public: true, access: all}",
            1,
            "artifacts",
            "artifacts config these keys cannot be used together: access, public",
        ),
        ("{expose_as: a}", 1, "artifacts", "artifacts paths can't be blank"),
        ("{expose_as: a, paths: []}", 1, "artifacts", "artifacts paths can't be blank"),
        (
            "{expose_as: a,\n paths: [b, c*]}",
            2,
            "artifacts:paths",
            "artifacts paths can't contain '*' when used with 'expose_as'",
        ),
        ("{paths: [a], expose_as: a/b}", 1, "artifacts:expose_as", BAD_NAME),
        ("{paths: [a], expose_as: ''}", 1, "artifacts:expose_as", BAD_NAME),
        ("{paths: [a], expose_as: ' a'}", 1, "artifacts:expose_as", BAD_NAME),
        ("{paths: [a], expose_as: é}", 1, "artifacts:expose_as", BAD_NAME),
        ("{paths: [a], expose_as: 1}", 1, "artifacts:expose_as", "artifacts expose as should be a string"),
        (
            f"{{paths: [a], expose_as: {'e' * 101}}}",
            1,
            "artifacts:expose_as",
            "artifacts expose as is too long (maximum is 100 characters)",
        ),
        ("{reports: [a]}", 1, "artifacts:reports", "artifacts:reports config should be a hash"),
        (
            "{reports: {\n junits: a}}",
            2,
            "artifacts:reports",
            "artifacts:reports config contains unknown keys: junits; did you mean `junit`?",
        ),
        (
            "{reports: {\n junit: 3}}",
            2,
            "artifacts:reports:junit",
            "artifacts:reports junit should be an array of strings or a string",
        ),
        ("{reports: {coverage_report: a}}", 1, REPORT, f"{REPORT} config should be a hash"),
        (
            "{reports: {coverage_report: {coverage_format: jacoco, path: a, name: b}}}",
            1,
            REPORT,
            f"{REPORT} config contains unknown keys: name",
        ),
        ("{reports: {coverage_report: {path: a}}}", 1, REPORT, f"{REPORT} coverage format can't be blank"),
        ("{reports: {coverage_report: {coverage_format: jacoco}}}", 1, REPORT, f"{REPORT} path can't be blank"),
        (
            "{reports: {coverage_report: {path: a,\n coverage_format: lcov}}}",
            2,
            f"{REPORT}:coverage_format",
            f"{REPORT} coverage format must be one of supported formats: cobertura, jacoco",
        ),
        (
            "{reports: {coverage_report: {coverage_format: jacoco, path: [a]}}}",
            1,
            f"{REPORT}:path",
            f"{REPORT} path should be a string",
        ),
    ],
)
def test_refused(text: str, line: int, path: str, message: str) -> None:
    assert refused(read_artifacts, "artifacts", text) == [(line, path, message)]
