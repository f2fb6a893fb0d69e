"""python-gitlab, unmodified, with pipeline schedules."""

import asyncio

import gitlab
import pytest
from gitlab.v4.objects import ProjectPipelineSchedule

from loops.schedule_ticks import TickLoop
from tests.api.v4.site import Site, serving


async def test_python_gitlab_manages_schedules(site: Site) -> None:
    await site.commit({".gitlab-ci.yml": "build: {script: make}\n"})
    async with serving(site) as url:
        client = gitlab.Gitlab(url, private_token=site.root.token)
        client.session.trust_env = False
        project = client.projects.get(await site.path(), lazy=True)

        def manage() -> ProjectPipelineSchedule:
            made = project.pipelineschedules.create({"ref": "main", "description": "Daily", "cron": "0 1 * * *"})
            assert (made.ref, made.cron_timezone, made.active) == ("refs/heads/main", "UTC", True)
            assert [item.id for item in project.pipelineschedules.list(get_all=True)] == [made.id]
            made.cron = "1 2 * * *"
            made.active = False
            made.save()
            same = project.pipelineschedules.get(made.id)
            assert (same.cron, same.active) == ("1 2 * * *", False)
            variable = same.variables.create({"key": "FOO", "value": "bar"})
            variable.value = "new"
            variable.save()
            assert project.pipelineschedules.get(made.id).attributes["variables"][0]["value"] == "new"
            variable.delete()
            made.take_ownership()
            assert made.owner["username"] == "root"
            assert project.pipelineschedules.get(made.id).play()["message"] == "201 Created"
            with pytest.raises(gitlab.GitlabCreateError, match="is invalid syntax"):
                project.pipelineschedules.create({"ref": "main", "description": "x", "cron": "x"})
            return same

        schedule = await asyncio.to_thread(manage)
        await TickLoop(site.services).carry_out_due()

        def end() -> None:
            (pipeline,) = schedule.pipelines.list(get_all=True)
            assert pipeline.source == "schedule"
            assert project.pipelineschedules.get(schedule.id).last_pipeline["id"] == pipeline.id
            schedule.delete()
            with pytest.raises(gitlab.GitlabGetError, match="404 Pipeline Schedule Not Found"):
                project.pipelineschedules.get(schedule.id)
            assert project.pipelines.get(pipeline.id).source == "schedule"

        await asyncio.to_thread(end)
        client.session.close()
