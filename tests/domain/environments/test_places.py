"""Where a job runs into others: names, addresses and keys with all variables put in."""

from textwrap import dedent

import pytest

from domain.config.plan import JobPlan
from domain.environments.places import NOWHERE, Place, deployed_url, place_of, places_of, settled
from domain.errors import ConfigInvalid
from domain.variables.job_variables import JobVariable
from tests.compiling import plan_of

PROJECT = JobVariable("CI_PROJECT_URL", "https://perdure.example/acme/tool", raw=True)
BRANCH = JobVariable("CI_COMMIT_REF_SLUG", "new-logo", raw=True)


def job(text: str) -> JobPlan:
    """The first job of a configuration."""
    return plan_of(dedent(text)).jobs[0]


def test_a_job_without_environment_and_group_is_nowhere() -> None:
    plain = job("a: {script: x}")
    assert place_of(plain, (BRANCH,)) is NOWHERE
    assert settled(plain, NOWHERE) is plain


def test_everything_of_an_environment_is_expanded() -> None:
    deploy = job("""
        deploy:
          script: x
          variables: {HOST: $CI_COMMIT_REF_SLUG.example.com, DAYS: 2}
          environment:
            name: review/$CI_COMMIT_REF_SLUG
            url: https://$HOST/$CI_ENVIRONMENT_SLUG
            auto_stop_in: $DAYS days
          resource_group: $CI_ENVIRONMENT_NAME-$CI_JOB_NAME
    """)
    place = place_of(deploy, (BRANCH,))
    assert place == Place(
        environment="review/new-logo",
        url=f"https://new-logo.example.com/{place.slug}",
        tier="development",
        slug=place.slug,
        action="start",
        auto_stop_in=2 * 86400,
        resource_group="review/new-logo-deploy",
    )
    assert place.slug.startswith("review-new-logo-")


def test_the_pipelines_variables_are_stronger_than_those_of_the_yaml() -> None:
    deploy = job("a: {script: x, variables: {WHERE: staging}, environment: $WHERE}")
    assert place_of(deploy, (JobVariable("WHERE", "nowhere"),)).environment == "staging"
    assert place_of(deploy, (), (JobVariable("WHERE", "production"),)).environment == "production"


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("1 day", 86400), ("never", None), ("$LONG", 3600), ("$NEVER", None), ("$NONSENSE", None), ("$NOBODY", None)],
)
def test_when_an_environment_stops(written: str, seconds: int | None) -> None:
    deploy = job(f"""
        a:
          script: x
          variables: {{LONG: 1 hour, NEVER: never, NONSENSE: soon}}
          environment: {{name: review, auto_stop_in: {written}}}
    """)
    place = place_of(deploy, ())
    assert place.auto_stop_in == seconds
    environment = settled(deploy, place).environment
    assert environment is not None
    assert environment.auto_stop_in == ("" if seconds is None else f"{seconds} seconds")


def test_the_tier_that_is_written_wins_over_the_guess() -> None:
    assert place_of(job("a: {script: x, environment: {name: live}}"), ()).tier == "production"
    assert place_of(job("a: {script: x, environment: {name: live, deployment_tier: testing}}"), ()).tier == "testing"


@pytest.mark.parametrize("name", ["feature#1", "umläut", "/x", "x/", "", "n" * 256])
def test_a_name_that_is_none_after_expansion_leaves_the_job_without_environment(name: str) -> None:
    deploy = job("a: {script: x, environment: $NAME}")
    place = place_of(deploy, (JobVariable("NAME", name, raw=True),))
    assert (place.environment, place.action) == ("", "start")


def test_a_key_that_grows_too_long_is_refused_and_every_such_job_is_named() -> None:
    plan = plan_of("a: {script: x, resource_group: $K$K}\nb: {script: x, resource_group: $K}\nc: {script: x}")
    known = (JobVariable("K", "k" * 128, raw=True),)
    with pytest.raises(ConfigInvalid) as caught:
        places_of(plan, known)
    (issue,) = caught.value.issues
    assert "a job: resource_group is too long after expansion: 256 characters, 255 at most" in str(issue)
    assert [place.resource_group for place in places_of(plan, (JobVariable("K", "k", raw=True),))] == ["kk", "k", ""]


def test_what_only_the_running_job_knows_is_put_in_when_it_has_deployed() -> None:
    deploy = job("a: {script: x, environment: {name: docs, url: '$CI_JOB_URL/$DYNAMIC?p=$CI_PIPELINE_ID&q=$$'}}")
    place = place_of(deploy, (PROJECT,))
    url = deployed_url(place.url, {"CI_JOB_ID": "7", "CI_PIPELINE_ID": "5", "DYNAMIC": "a$b"})
    assert url == "https://perdure.example/acme/tool/-/jobs/7/a$b?p=5&q=$"


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "$UNKNOWN", "", "https://", "https://[x", f"https://{'x' * 256}"]
)
def test_what_is_no_address_for_a_browser_is_not_kept(url: str) -> None:
    assert deployed_url(url, {}) == ""
