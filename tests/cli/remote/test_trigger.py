"""`perdure trigger` against a server."""

import httpx

from cli.remote.documents import TRIGGER, schema
from tests.api.v4.site import Site
from tests.cli.remote.matching import matches_list
from tests.cli.remote.shell import Shell
from tests.cli.remote.test_pipeline import document
from tests.waiting import HANGS


async def test_a_trigger_starts_pipelines_until_it_is_removed(site: Site, shell: Shell) -> None:
    await site.commit({".gitlab-ci.yml": "a: {script: x}\n"})
    done = await shell("trigger", "create", "from outside")
    token, route = done.out.strip(), done.err.rpartition(" ")[2].strip().rstrip("`.")
    assert route.endswith("/trigger/pipeline")
    async with httpx.AsyncClient(timeout=HANGS) as outside:
        made = await outside.post(route, data={"token": token, "ref": "main"})
        assert (made.status_code, made.json()["source"]) == (201, "trigger"), made.text
        listed = await document(shell, "trigger", "list")
        assert matches_list(listed, schema(TRIGGER))
        rows = (await shell("trigger", "list")).out
        assert ("from outside" in rows, token in rows) == (True, False)
        number = str(listed[0]["id"])
        assert (await shell("trigger", "delete", number)).code == 2
        assert (await shell("trigger", "delete", number, "-y")).code == 0
        assert (await shell("trigger", "delete", number, "-y")).code == 3
        late = await outside.post(route, data={"token": token, "ref": "main"})
        assert late.status_code == 404
