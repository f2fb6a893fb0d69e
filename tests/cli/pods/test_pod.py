"""`perdure pod status`, `tags` and `queue` against a server."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from cli.pods.documents import POD, QUEUED_TAG_SET, SERVED_TAG_SET, UNSERVED_TAG_SET, USED_TAG_SET
from cli.remote.documents import schema
from tests.api.v4.pods.test_pod import add_runner
from tests.api.v4.site import Site, open_site, serving
from tests.cli.remote.matching import matches, matches_list
from tests.cli.remote.shell import Shell
from tests.cli.remote.test_pipeline import document

CONFIG = "one: {script: x, tags: [gpu]}\ntwo: {script: x, tags: [arm]}\nthree: {script: x}\n"


async def organisation(site: Site) -> str:
    return (await site.path()).partition("/")[0]


async def test_a_pod_shows_its_state_its_tag_sets_and_its_queue(site: Site, shell: Shell) -> None:
    await add_runner(site, "arm", version="18.0.0")
    await site.world.pipeline(CONFIG)
    shown = await document(shell, "pod", "status")
    assert matches(shown, schema(POD))
    assert (shown["name"], shown["number"], shown["pending"], shown["running"]) == ("default", 0, 3, 0)
    assert {"version": "18.0.0", "processes": 1} in shown["runner_versions"]
    text = (await shell("pod", "status")).out
    assert "pod\tdefault (number 0)\n" in text
    assert "instance\t1\t0\t0\t1\t0\n" in text

    served = await document(shell, "pod", "tags")
    assert matches_list(served, schema(SERVED_TAG_SET))
    assert [one["tags"] for one in served] == [[], ["arm"]]
    assert "arm\tinstance\tyes\tall\t1\t0\t0\n" in (await shell("pod", "tags")).out

    queued = await document(shell, "pod", "queue")
    assert matches_list(queued, schema(QUEUED_TAG_SET))
    assert {tuple(one["tags"]): one["served"] for one in queued} == {("gpu",): False, ("arm",): True, (): True}
    assert "\t1 not\tNo runner of this project has the tag gpu.\n" in (await shell("pod", "queue")).out


async def test_what_an_organisation_used_is_shown_with_what_becomes_of_it(site: Site, shell: Shell) -> None:
    await add_runner(site, "arm", version="18")
    await site.world.pipeline(CONFIG)
    used = await document(shell, "pod", "tags", "--for", await organisation(site))
    assert matches_list(used, schema(USED_TAG_SET))
    assert {tuple(one["tags"]): one["available_here"] for one in used} == {
        (): "available",
        ("arm",): "available",
        ("gpu",): "none",
    }
    assert "gpu\tother\t1\t" in (await shell("pod", "tags", "--for", await organisation(site))).out
    missing = await shell("pod", "tags", "--for", "nobody")
    assert (missing.code, "Next: `perdure group list`" in missing.err) == (3, True)
    alone = await shell("pod", "tags", "--target", site.services.settings.url)
    assert (alone.code, "add `--for ORGANISATION`" in alone.err) == (2, True)


async def test_who_may_not_see_the_pod_is_told(site: Site, nobody: Shell) -> None:
    person = await site.person("ada", 50)
    assert (await nobody("login", site.services.settings.url, "--stdin", stdin=person.token)).code == 0
    for words in (("status",), ("tags",), ("queue",)):
        done = await nobody("pod", *words)
        assert (done.code, "only an administrator" in done.err) == (4, True), done.err


async def test_an_organisation_is_warned_of_what_the_other_pod_lacks(site: Site, shell: Shell, tmp_path: Path) -> None:
    """Its own runner moves along; the other pod has one for `arm` alone, and none for jobs without tags."""
    group = await organisation(site)
    async with site.client(site.root) as client:
        key = (await client.get(f"/api/v4/groups/{group}")).json()["id"]
    await add_runner(site, "linux", version="18", runner_type="group_type", organisation_id=key, run_untagged=False)
    await site.world.pipeline(CONFIG + "four: {script: x, tags: [linux]}\n")
    other = tmp_path / "other"
    other.mkdir()
    more: dict[str, Any] = {"pod": "seven", "pod_number": 7}
    async with open_site(other, f"sqlite:///{other / 'seven.db'}", **more) as seven, serving(seven) as url:
        async with seven.client(seven.root) as client:
            for one in (await client.get("/api/v4/runners/all")).json():
                assert (await client.delete(f"/api/v4/runners/{one['id']}")).status_code == 204
        await add_runner(seven, "arm", "big", version="18", run_untagged=False)
        assert (await shell("login", url, "--stdin", "--keep-default", stdin=seven.root.token)).code == 0
        words = ("pod", "tags", "--for", group, "--target", url)
        done = await shell(*words, "--json")
        plain = await shell(*words)
        served = await shell(*words, "--json", "--days", "1")
    assert done.code == plain.code == served.code == 1
    found = json.loads(done.out)
    assert matches_list(found, schema(UNSERVED_TAG_SET))
    assert [(one["tags"], one["availability"], one["jobs"]) for one in found] == [([], "none", 1), (["gpu"], "none", 1)]
    assert datetime.fromisoformat(found[0]["last_used_at"]).tzinfo is not None
    assert plain.out.splitlines() == [one["warning"] for one in found]
    assert "cannot run in pod seven: no runner there has all of these tags. Register one there" in plain.out
