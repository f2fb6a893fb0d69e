"""Jobs and runners of few organisations, projects and tags, so that what they are often meets."""

from typing import Final

from hypothesis import strategies as st

from domain.runners.matching import Candidate, Demand, RunnerType

_FEW: Final = st.integers(1, 2)
_TAGS: Final = st.frozensets(st.sampled_from(["arm", "gpu", "linux"]), max_size=3)

DEMANDS: Final = st.builds(
    Demand,
    project_id=_FEW,
    organisation_id=_FEW,
    tags=_TAGS,
    protected=st.booleans(),
    instance_runners=st.booleans(),
    group_runners=st.booleans(),
    groups=st.frozensets(st.integers(1, 4), max_size=3),
    may_run_as_server=st.booleans(),
    others=st.booleans(),
)


@st.composite
def _runners(draw: st.DrawFn) -> Candidate:
    kind = draw(st.sampled_from(RunnerType))
    flags = ("run_untagged", "ref_protected", "paused", "online", "as_server")
    return Candidate(
        kind,
        organisation_id=None if kind is RunnerType.INSTANCE else draw(_FEW),
        projects=draw(st.frozensets(_FEW)) if kind is RunnerType.PROJECT else frozenset(),
        namespace_id=draw(st.none() | st.integers(1, 4)) if kind is RunnerType.GROUP else None,
        tags=draw(_TAGS),
        **{flag: draw(st.booleans()) for flag in flags},
    )


RUNNERS: Final = _runners()
