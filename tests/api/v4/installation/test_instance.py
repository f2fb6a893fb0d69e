"""The installation by REST: its settings, figures and features for administrators, and Markdown for everybody."""

import pytest

from tests.api.v4.site import Site


@pytest.mark.parametrize("path", ["application/settings", "application/statistics", "features", "license"])
async def test_only_administrators_ask_about_the_installation(site: Site, path: str) -> None:
    person = await site.person("somebody")
    async with site.client(person) as client, site.client() as nobody:
        assert (await client.get(f"/api/v4/{path}")).status_code == 403
        assert (await nobody.get(f"/api/v4/{path}")).status_code == 401


async def test_a_setting_is_told_and_cannot_be_changed_here(site: Site) -> None:
    async with site.client(site.root) as client:
        path = "/api/v4/application/settings"
        found = (await client.get(path)).json()
        assert (found["max_artifacts_size"], found["signup_enabled"]) == (100, False)
        assert (await client.put(path, json={"max_artifacts_size": 100, "signup_enabled": False})).json() == found
        for body, why in (
            ({"max_artifacts_size": 7}, "PERDURE_ARTIFACT_BYTES says so"),
            ({"sign_in_text": "hi"}, "no such setting"),
            ({}, "at least one parameter must be provided"),
        ):
            response = await client.put(path, json=body)
            assert (response.status_code, why in response.text) == (400, True), response.text


async def test_what_there_is_is_counted_and_what_there_is_not_is_said(site: Site) -> None:
    await site.person("somebody")
    async with site.client(site.root) as client:
        found = (await client.get("/api/v4/application/statistics")).json()
        assert (found["projects"], found["users"], found["active_users"], found["issues"]) == (1, 2, 2, 0)
        assert (await client.get("/api/v4/features")).json() == []
        response = await client.get("/api/v4/license")
        assert (response.status_code, "has no licence" in response.text) == (404, True)


async def test_markdown_becomes_html_in_which_nothing_runs(site: Site) -> None:
    person = await site.person("somebody")
    text = "# A\n\n~~b~~ <script>x</script> [c](javascript:alert(1))\n\n|d|\n|-|\n|e|\n"
    async with site.client(person) as client, site.client() as nobody:
        plain = await client.post("/api/v4/markdown", json={"text": text})
        flavoured = (await client.post("/api/v4/markdown", json={"text": text, "gfm": True})).json()["html"]
        assert (await nobody.post("/api/v4/markdown", json={"text": text})).status_code == 401
        long = await client.post("/api/v4/markdown", json={"text": "x" * 100_001})
    assert (plain.status_code, long.status_code) == (201, 400)
    assert "<h1>A</h1>" in plain.json()["html"]
    assert ("<s>b</s>" in flavoured, "<td>e</td>" in flavoured) == (True, True)
    assert "<s>" not in plain.json()["html"]
    for html in (plain.json()["html"], flavoured):
        assert "&lt;script&gt;" in html
        assert 'href="javascript' not in html
