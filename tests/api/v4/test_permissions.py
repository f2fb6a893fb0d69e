"""Who may do what over the REST API."""

from tests.api.v4.site import Site

GUEST, REPORTER, DEVELOPER, MAINTAINER = 10, 20, 30, 40

CALLS = [
    ("GET", "", GUEST, None),
    ("GET", "/pipelines", REPORTER, None),
    ("GET", "/pipelines/{pipeline}", REPORTER, None),
    ("GET", "/pipelines/{pipeline}/jobs", REPORTER, None),
    ("GET", "/pipelines/{pipeline}/test_report", REPORTER, None),
    ("GET", "/pipelines/{pipeline}/test_report_summary", REPORTER, None),
    ("GET", "/pipelines/{pipeline}/reports", REPORTER, None),
    ("GET", "/pipelines/{pipeline}/variables", DEVELOPER, None),
    ("GET", "/jobs", REPORTER, None),
    ("GET", "/jobs/{job}", REPORTER, None),
    ("GET", "/jobs/{job}/trace", REPORTER, None),
    ("GET", "/jobs/{job}/trace/live", REPORTER, None),
    ("GET", "/members", GUEST, None),
    ("GET", "/resource_groups", DEVELOPER, None),
    ("GET", "/resource_groups/production", DEVELOPER, None),
    ("GET", "/resource_groups/production/upcoming_jobs", DEVELOPER, None),
    ("GET", "/resource_groups/production/current_job", DEVELOPER, None),
    ("PUT", "/resource_groups/production", DEVELOPER, {"process_mode": "oldest_first"}),
    ("POST", "/pipelines/{pipeline}/cancel", MAINTAINER, None),
    ("POST", "/jobs/{job}/cancel", MAINTAINER, None),
    ("POST", "/pipeline", MAINTAINER, {"ref": "main"}),
    ("POST", "/members", MAINTAINER, {"user_id": 1, "access_level": 30}),
]
"""The branch is protected: what is run, ended or kept there is the maintainers'."""


async def test_each_call_needs_its_level(site: Site) -> None:
    await site.commit({"x": "1"})
    await site.world.pipeline("deploy: {script: x, resource_group: production}\n")
    people = {each: await site.person(f"level{each}", each) for each in (0, GUEST, REPORTER, DEVELOPER, MAINTAINER)}
    for method, path, level, body in CALLS:
        pipeline = await site.world.pipeline()
        job = await site.world.job()
        if path.endswith("/live"):
            await site.world.put(job, "success", b"")  # else the response has no end
        address = f"/api/v4/projects/{site.world.project_id}{path.format(pipeline=pipeline, job=job['id'])}"
        for each, person in people.items():
            async with site.client(person) as client:
                response = await client.request(method, address, json=body)
            what = f"{method} {path} by level {each}: {response.text}"
            if each >= level:
                assert response.status_code not in {401, 403, 404}, what
            elif each < GUEST:
                assert (response.status_code, response.json()) == (404, {"message": "404 Project Not Found"}), what
            else:
                assert (response.status_code, response.json()["message"][:13]) == (403, "403 Forbidden"), what
        async with site.client() as stranger:
            assert (await stranger.request(method, address, json=body)).status_code == 404


async def test_a_public_project_is_read_by_everybody_and_run_by_members(site: Site) -> None:
    await site.set_project(visibility="public")
    pipeline = await site.world.pipeline()
    address = f"/api/v4/projects/{site.world.project_id}/pipelines/{pipeline}"
    async with site.client() as stranger:
        assert (await stranger.get(address)).status_code == 200
        assert (await stranger.post(f"{address}/cancel")).status_code == 401
    async with site.client(await site.person("passer")) as passer:
        assert (await passer.post(f"{address}/cancel")).status_code == 403


async def test_a_wrong_token_is_refused_everywhere(site: Site) -> None:
    async with site.client(headers={"PRIVATE-TOKEN": "glpat-wrong"}) as client:
        for path in ("/version", "/projects", f"/projects/{site.world.project_id}", "/runners"):
            response = await client.get(f"/api/v4{path}")
            assert (response.status_code, response.json()) == (401, {"message": "401 Unauthorized"})


async def test_a_pipeline_of_another_project_is_not_found(site: Site) -> None:
    pipeline = await site.world.pipeline()
    async with site.client(site.root) as client:
        other = (await client.post("/api/v4/projects", json={"name": "other"})).json()
        response = await client.get(f"/api/v4/projects/{other['id']}/pipelines/{pipeline}")
    assert response.status_code == 404


async def test_nobody_gives_more_than_he_has(site: Site) -> None:
    maintainer, friend = await site.person("maint", MAINTAINER), await site.person("friend")
    path = f"/api/v4/projects/{site.world.project_id}/members"
    async with site.client(maintainer) as client:
        refused = await client.post(path, json={"user_id": friend.id, "access_level": 50})
        given = await client.post(path, json={"user_id": friend.id, "access_level": 40})
        again = await client.post(path, json={"user_id": friend.id, "access_level": 30})
        strange = await client.post(path, json={"user_id": friend.id, "access_level": 31})
    assert refused.status_code == 403
    assert (given.status_code, given.json()["access_level"], given.json()["username"]) == (201, 40, "friend")
    assert (again.status_code, again.json()) == (409, {"message": "Member already exists"})
    assert strange.status_code == 400


async def test_a_member_is_named_by_number_or_by_user_name(site: Site) -> None:
    await site.person("friend")
    async with site.client(site.root) as client:
        group = (await client.post("/api/v4/groups", json={"name": "team", "path": "team"})).json()
        for place in (f"projects/{site.world.project_id}", f"groups/{group['id']}"):
            path = f"/api/v4/{place}/members"
            for body, status, said in (
                ({"username": "nobody"}, 404, "404 User Not Found"),
                ({}, 400, "user_id, username: exactly one of them must be given"),
                ({"username": "friend", "user_id": 1}, 400, "user_id, username: exactly one of them must be given"),
                ({"username": "friend"}, 201, None),
                ({"username": "friend"}, 409, "Member already exists"),
            ):
                response = await client.post(path, json={**body, "access_level": 30})
                assert (response.status_code, response.json().get("message")) == (status, said), body


async def test_a_session_cannot_be_used_by_another_site(site: Site) -> None:
    from auth.session_token import COOKIE, issue_session

    session = issue_session(site.services.key, site.root.id, site.services.clock())
    pipeline = await site.world.pipeline()
    address = f"/api/v4/projects/{site.world.project_id}/pipelines/{pipeline}/cancel"
    async with site.client(cookies={COOKIE: session}) as client:
        for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {}, {"Sec-Fetch-Site": "same-site"}):
            assert (await client.post(address, headers=headers)).status_code == 403, headers
        own = await client.post(address, headers={"Origin": site.services.settings.url})
    assert own.status_code == 202
