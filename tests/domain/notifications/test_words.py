"""Subjects and sentences."""

from domain.notifications.content import FailedJob, Person
from domain.notifications.occasions import Occasion
from domain.notifications.plain_words import one_line
from domain.notifications.words import (
    Place,
    ToldDeployment,
    ToldMergeRequest,
    ToldPipeline,
    of_deployment,
    of_merge_request,
    of_pipeline,
    of_test,
)

ADA = Person("Ada", "ada", "https://ci.example/ada")
PLACE = Place("acme/tool", "https://ci.example/acme/tool")


def test_subjects_are_as_gitlabs() -> None:
    told = ToldPipeline(7, "main", False, "abc12345ff", "Mend", "u", "c", ADA, 65)
    found = [of_pipeline(kind, PLACE, told) for kind in list(Occasion)[:3]]
    assert [one.title for one in found] == [
        "acme/tool | Failed pipeline for main | abc12345",
        "acme/tool | Fixed pipeline for main | abc12345",
        "acme/tool | Successful pipeline for main | abc12345",
    ]
    assert found[0].headline == "Pipeline #7 of branch main by Ada has failed in 01:05"


def test_deployments_and_merge_requests() -> None:
    deployment = ToldDeployment("prod", "e", "main", "abc12345ff", "j", "ship", ADA)
    assert of_deployment(Occasion.DEPLOYMENT_FAILED, PLACE, deployment).title == (
        "acme/tool | Failed deployment to prod | abc12345"
    )
    merge_request = ToldMergeRequest(3, "Add", "topic", "main", "u", ADA, Person("Bob"))
    assert of_merge_request(Occasion.MERGED, PLACE, merge_request).title == "acme/tool | Add (!3) | was merged"
    assert of_merge_request(Occasion.APPROVED, PLACE, merge_request).headline == (
        "Merge request !3 Add was approved by Bob"
    )
    assert of_test(PLACE, ADA).title == "acme/tool | Test message"


def test_many_failed_jobs_are_counted() -> None:
    jobs = [FailedJob(f"j{n}", "s", "why", "u") for n in range(20)]
    told = ToldPipeline(7, "main", False, "abc", "Mend", "u", "c", ADA, failed=jobs, failed_count=321)
    found = of_pipeline(Occasion.PIPELINE_FAILED, PLACE, told)
    assert (len(found.jobs), found.more_jobs) == (20, 301)


def test_one_line() -> None:
    assert one_line("a\r\nBcc: b\u2028c\x00d\u202ee") == "a Bcc: b c d e"
    assert one_line("x" * 300) == "x" * 199 + "…"
    assert one_line("👩 ok") == "👩 ok"
    assert len(one_line("ab\n" * 1_000_000, 50)) == 50
