"""Push options: both spellings, the last one counts, and what changes nothing is told."""

import pytest

from domain.pipelines.push_options import NO_EFFECT, MergeRequestOptions, lines_on_ignored, merge_request_options


def test_a_push_without_them_asks_for_no_merge_request() -> None:
    assert merge_request_options(["ci.skip", "ci.variable=A=b", "unknown"]) is None


def test_every_option_in_both_spellings_says_the_same() -> None:
    said = [
        "create",
        "target=main",
        "target_project=group/other",
        'title="A title"',
        "description=one\\ntwo",
        "draft",
        "label=a",
        "label=b",
        "unlabel=c",
        "auto_merge",
        "remove_source_branch",
    ]
    expected = MergeRequestOptions(
        create=True,
        target="main",
        target_project="group/other",
        title="A title",
        description="one\ntwo",
        draft=True,
        labels=("a", "b"),
        unlabels=("c",),
        auto_merge=True,
        remove_source_branch=True,
    )
    assert merge_request_options([f"merge_request.{one}" for one in said]) == expected
    assert merge_request_options([f"mr.{one}" for one in said]) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["mr.create=false"], MergeRequestOptions()),
        (["mr.target=a", "merge_request.target=b"], MergeRequestOptions(target="b")),
        (["mr.merge_when_pipeline_succeeds"], MergeRequestOptions(auto_merge=True)),
        (["mr.remove_source_branch=false"], MergeRequestOptions(remove_source_branch=False)),
        ([" mr.draft =  "], MergeRequestOptions(draft=True)),
    ],
)
def test_the_last_one_counts_and_false_takes_it_back(options: list[str], expected: MergeRequestOptions) -> None:
    assert merge_request_options(options) == expected


def test_what_changes_nothing_is_told_once_with_the_nearest_name() -> None:
    assert lines_on_ignored(["ci.skip", "mr.create"]) == []
    assert lines_on_ignored(["ci.skp", "ci.skp=1"]) == [
        "The push option 'ci.skp' is not known and changes nothing; did you mean `ci.skip`?"
    ]
    for name, instead in NO_EFFECT.items():
        assert lines_on_ignored([f"{name}=x"]) == [
            f"The push option {name!r} is not part of Perdure and changes nothing: {instead}."
        ]
