"""Bridges with real workflows, real repositories and the real API."""

from domain.pipelines.status import Status
from tests.application.bridges.running import Running

CHILD = {"child.yml": "inner: {script: make}\n"}
DEPEND = {".gitlab-ci.yml": "go: {trigger: {include: child.yml, strategy: depend}}\n", **CHILD}


async def test_a_child_runs_by_itself(live: Running) -> None:
    config = """
        stages: [build, deploy]
        build: {stage: build, script: make}
        go: {stage: deploy, trigger: {include: child.yml}}
    """
    parent = await live.start({".gitlab-ci.yml": config, **CHILD})
    await live.pod.run("build")
    assert await live.pod.ended(parent) == "success"
    child = await live.downstream(parent, "go")
    await live.pod.run("inner", Status.FAILED)
    assert await live.pod.ended(child.id) == "failed"
    assert await live.here.world.status(parent) == "success"


async def test_a_retry_in_the_child_brings_the_closed_parent_back_to_life(live: Running) -> None:
    config = """
        stages: [build, deploy]
        go: {stage: build, trigger: {include: child.yml, strategy: depend}}
        deploy: {stage: deploy, script: make deploy}
    """
    parent = await live.start({".gitlab-ci.yml": config, **CHILD})
    inner = await live.pod.run("inner", Status.FAILED)
    child = (await live.downstream(parent, "go")).id
    assert await live.pod.ended(child) == "failed"
    assert await live.pod.ended(parent) == "failed"
    await live.post(f"jobs/{inner}/retry")
    await live.until(parent, "running")
    await live.pod.run("inner")
    await live.pod.run("deploy")
    assert await live.pod.ended(parent) == "success"
    assert await live.pod.ended(child) == "success"
    assert (await live.here.named(parent, "go")).attempt == 2


async def test_a_mirroring_bridge_waits_for_a_person_like_its_child(live: Running) -> None:
    config = {
        ".gitlab-ci.yml": "go: {trigger: {include: child.yml, strategy: mirror}}\n",
        "child.yml": "inner: {script: make, when: manual, allow_failure: false}\n",
    }
    parent = await live.start(config)
    child = (await live.downstream(parent, "go")).id
    await live.until(parent, "manual")
    await live.post(f"jobs/{(await live.here.named(child, 'inner')).id}/play")
    await live.until(parent, "running")
    await live.pod.run("inner")
    assert await live.pod.ended(parent) == "success"
    assert await live.pod.ended(child) == "success"


async def test_a_manual_bridge_is_played_and_retried_by_the_api(live: Running) -> None:
    config = {
        ".gitlab-ci.yml": "go: {when: manual, allow_failure: false, trigger: {include: child.yml, strategy: depend}}\n",
        **CHILD,
    }
    parent = await live.start(config)
    await live.until(parent, "manual")
    await live.post(f"jobs/{(await live.here.named(parent, 'go')).id}/play")
    first = (await live.downstream(parent, "go")).id
    await live.pod.run("inner", Status.FAILED)
    assert await live.pod.ended(parent) == "failed"
    await live.post(f"jobs/{(await live.here.named(parent, 'go')).id}/retry")
    second = (await live.downstream(parent, "go")).id
    assert second != first
    await live.pod.run("inner")
    assert await live.pod.ended(parent) == "success"


async def test_a_bridge_that_a_rule_delays_starts_by_itself_and_can_be_played_before(live: Running) -> None:
    config = """
        soon: {trigger: {include: child.yml, strategy: depend}, rules: [{when: delayed, start_in: 1 second}]}
        late: {trigger: {include: child.yml, strategy: depend}, rules: [{when: delayed, start_in: 1 week}]}
    """
    parent = await live.start({".gitlab-ci.yml": config, **CHILD})
    await live.downstream(parent, "soon")
    await live.pod.run("inner")
    await live.until(parent, "scheduled")
    late = await live.here.named(parent, "late")
    assert (late.status, late.downstream_id) == ("scheduled", None)
    await live.post(f"jobs/{late.id}/play")
    await live.downstream(parent, "late")
    await live.pod.run("inner")
    assert await live.pod.ended(parent) == "success"


async def test_cancel_goes_down(live: Running) -> None:
    parent = await live.start(DEPEND)
    child = (await live.downstream(parent, "go")).id
    await live.pod.take("inner")
    await live.post(f"pipelines/{parent}/cancel")
    assert await live.pod.ended(parent) == "canceled"
    assert await live.pod.ended(child) == "canceled"
    assert (await live.here.named(parent, "go")).attempt == 1


async def test_another_project_decides_over_the_bridge(live: Running) -> None:
    other = await live.here.project("other", {".gitlab-ci.yml": "build: {script: make}\n"})
    path = await live.here.path(other)
    parent = await live.start({".gitlab-ci.yml": f"go: {{trigger: {{project: {path}, strategy: depend}}}}\n"})
    made = await live.downstream(parent, "go")
    assert made.project_id == other
    await live.pod.run("build", Status.FAILED)
    assert await live.pod.ended(made.id) == "failed"
    assert await live.pod.ended(parent) == "failed"


async def test_a_tree_of_pipelines_ends_from_its_leaves(live: Running) -> None:
    files = {
        ".gitlab-ci.yml": "go: {trigger: {include: one.yml, strategy: depend}}\n",
        "one.yml": "deeper: {trigger: {include: child.yml, strategy: depend}}\n",
        **CHILD,
    }
    parent = await live.start(files)
    child = (await live.downstream(parent, "go")).id
    deepest = (await live.downstream(child, "deeper")).id
    await live.pod.run("inner")
    assert [await live.pod.ended(one) for one in (deepest, child, parent)] == ["success"] * 3
