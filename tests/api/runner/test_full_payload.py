"""One job that asks for everything: its payload field by field, in `full_payload.json`.

After a wanted change: `python -m tests.api.runner.test_full_payload` writes the file anew.
"""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.api.runner.handing_out import handed_out, payload_of
from tests.compiling import plan_of
from tests.foreign.payload_shape import PAYLOAD, faults, fields, filled

GOLDEN = Path(__file__).with_name("full_payload.json")

TEXT = """
default:
  hooks: {pre_get_sources_script: [echo before, echo git]}
variables:
  GREETING: {value: "hello $NAME", description: who is greeted}
  NAME: world
  RAW: {value: "$GREETING", expand: false}
  GIT_DEPTH: "5"
everything:
  stage: test
  image:
    name: ruby:$VERSION
    entrypoint: [/bin/sh, -c]
    pull_policy: [if-not-present, always]
    docker: {platform: linux/arm64, user: dave}
    kubernetes: {user: "1001"}
  services:
    - redis
    - name: postgres:16
      alias: db, database
      entrypoint: [/docker-entrypoint.sh]
      command: [-c, fsync=off]
      pull_policy: never
      docker: {user: postgres, platform: linux/amd64}
      kubernetes: {user: "999"}
      variables: {POSTGRES_PASSWORD: "$NAME"}
  inputs:
    level: {type: number, default: 3}
    names: {type: array, default: [a, b]}
    loud: {type: boolean, default: false}
    word: {type: string, default: ""}
  before_script: [cd app]
  script: [make, make check]
  after_script: [rm -r tmp]
  timeout: 20 minutes
  cache:
    - key: gems-$CI_COMMIT_REF_SLUG
      paths: [vendor/]
      untracked: true
      policy: pull
      when: always
      fallback_keys: [gems-main]
  artifacts:
    name: build-$CI_JOB_NAME
    paths: [out/, log/*.txt]
    exclude: [out/tmp]
    untracked: true
    when: on_failure
    expire_in: 1 week
    reports:
      junit: [a.xml, b.xml]
      coverage_report: {coverage_format: cobertura, path: cov.xml}
  secrets:
    PASSWORD: {vault: ops/db/password@kv, token: $NAME, file: false}
    KEY: {gcp_secret_manager: {name: key, version: 2}, token: $NAME}
    CERT: {azure_key_vault: {name: cert, version: a1}, token: $NAME}
    LOGIN: {aws_secrets_manager: "login#name"}
    NOTE: {gitlab_secrets_manager: {name: note}}
"""

BY_CHOICE = {
    "runner_info.uuid",
    "suspend_options.suspend_on_success",
    "suspend_options.suspend_on_failure",
    "suspend_options.runtime_environment_key",
    *(field for field in fields() if field.startswith("policy_options.")),
}
"""Fields that no payload has: `api.runner.payloads.document.build` says why."""

ELSEWHERE = {
    *("run", "steps_resume", "features.steps_artifact"),  # not together with scripts
    "job_info.scoped_user_id",
    "image.command[]",  # only services have one
    *(field for field in fields() if field.startswith("features.tracing.") or ".ports[]" in field),
    *(field for field in fields() if field.startswith("credentials[]")),
}
"""Fields that are there, but say nothing in this job."""


def full_payload() -> dict[str, Any]:
    """The payload of the job above, with a dependency of its own."""
    archive = SimpleNamespace(id=650, name="compile", filename="artifacts.zip", size=180)
    (job,) = plan_of(TEXT, variables={"VERSION": "3.4"}).jobs
    return payload_of(handed_out(job, variables={"VERSION": "3.4"}, dependencies=(archive,)))


def test_the_payload_of_a_full_job_is_as_it_was() -> None:
    assert full_payload() == json.loads(GOLDEN.read_text())


def test_a_strict_runner_takes_it() -> None:
    assert list(faults(full_payload())) == []


def test_every_field_of_the_protocol_is_filled_or_left_out_on_purpose() -> None:
    said = set(filled(full_payload()))
    assert said & (BY_CHOICE | ELSEWHERE) == set()
    assert set(fields()) - said == BY_CHOICE | ELSEWHERE


def test_the_decoder_refuses_what_loses_a_job() -> None:
    for change in (
        {"id": "700"},
        {"run": None},
        {"run": ["a"]},
        {"runner_info": {"timeout": 60.0}},
        {"variables": [{"key": "A", "value": 1}]},
        {"steps": [{"name": "release", "script": []}]},
        {"image": {"executor_opts": {"docker": {"privileged": "yes"}}}},
        {"unknown": 1},
        {"inputs": [{"key": "a", "value": {"type": "string", "content": None, "sensitive": False}}]},
    ):
        assert list(faults({**full_payload(), **change})) != [], change
    assert PAYLOAD.keys() >= full_payload().keys()


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(full_payload(), indent=2, sort_keys=True) + "\n")
