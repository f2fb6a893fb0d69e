"""Why a pipeline is as it is."""


async def test_a_pipeline_tells_why_its_jobs_are_in_and_others_out(site):
    await site.commit(
        {
            ".gitlab-ci.yml": "workflow: {name: 'Of $CI_COMMIT_BRANCH', rules: [{if: $CI_COMMIT_BRANCH}]}\n"
            "a: {script: x, rules: [{if: '$LEVEL == \"3\"'}]}\nb: {script: x, rules: [{changes: [docs/**]}]}\n"
            "c: {script: x, rules: [{if: $CI_COMMIT_TAG}]}\n"
        }
    )
    home = f"/api/v4/projects/{site.world.project_id}"
    async with site.client(site.root) as client:
        made = (
            await client.post(f"{home}/pipeline", json={"ref": "main", "variables": [{"key": "LEVEL", "value": "3"}]})
        ).json()
        why = (await client.get(f"{home}/pipelines/{made['id']}/why")).json()
        one = (await client.get(f"{home}/jobs/{why['jobs'][0]['id']}/why")).json()
    assert made["name"] == "Of main"
    assert why["pipeline"]["clause"] == "workflow:rules[0]"
    assert {job["name"]: job["why"]["clause"] for job in why["jobs"]} == {"a": "rules[0]", "b": "rules[0]"}
    assert why["jobs"][0]["why"]["tried"][0]["values"] == {"LEVEL": "3"}
    assert "no list of changed files is known" in why["jobs"][1]["why"]["tried"][0]["detail"]
    assert [(job["name"], job["why"]["clause"]) for job in why["absent"]] == [("c", "rules")]
    assert one["why"] == why["jobs"][0]["why"]


async def test_a_pipeline_that_the_rules_do_not_want_is_not_made(site):
    await site.commit({".gitlab-ci.yml": "a: {script: x, rules: [{if: $CI_COMMIT_TAG}]}\n"})
    async with site.client(site.root) as client:
        answer = await client.post(f"/api/v4/projects/{site.world.project_id}/pipeline", json={"ref": "main"})
    assert answer.status_code == 400
    assert "The resulting pipeline would have been empty" in answer.text


async def test_what_the_engine_cannot_run_yet_is_refused_and_not_dropped(site):
    await site.commit(
        {".gitlab-ci.yml": "a: {script: x, identity: google_cloud}\nb: {script: y, identity: google_cloud}\n"}
    )
    async with site.client(site.root) as client:
        answer = await client.post(f"/api/v4/projects/{site.world.project_id}/pipeline", json={"ref": "main"})
    assert answer.status_code == 400
    assert [issue.split(": ", 1)[1] for issue in answer.json()["message"]["base"]] == [
        "a job: identity is valid, but this version of Perdure cannot run it yet",
        "b job: identity is valid, but this version of Perdure cannot run it yet",
    ]


async def test_inputs_of_a_pipeline(site):
    text = "spec: {inputs: {level: {type: number, default: 1}}}\n---\n'a $[[ inputs.level ]]': {script: x}\n"
    await site.commit({".gitlab-ci.yml": text})
    home = f"/api/v4/projects/{site.world.project_id}"
    async with site.client(site.root) as client:
        names = []
        for inputs in ({}, {"level": 2}, {"level": "3"}):
            made = (await client.post(f"{home}/pipeline", json={"ref": "main", "inputs": inputs})).json()
            names += [job["name"] for job in (await client.get(f"{home}/pipelines/{made['id']}/jobs")).json()]
        wrong = await client.post(f"{home}/pipeline", json={"ref": "main", "inputs": {"level": "many"}})
    assert names == ["a 1", "a 2", "a 3"]
    assert "provided value is not a number" in wrong.text
