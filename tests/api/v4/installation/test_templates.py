"""Templates over the REST API, by an unmodified python-gitlab."""

import asyncio

import gitlab
import pytest

from includes import templates
from tests.api.v4.site import Site, serving


async def test_python_gitlab_reads_the_templates_of_include(site: Site) -> None:
    def play(url: str) -> None:
        gl = gitlab.Gitlab(url, private_token=site.root.token)
        listed = [one.key for one in gl.gitlabciymls.list(get_all=True, per_page=7)]
        assert [f"{key}.gitlab-ci.yml" for key in listed] == list(templates.names())
        assert {"Auto-DevOps", "Jobs/Build"} <= set(listed)
        assert gl.gitlabciymls.get("Auto-DevOps").content == templates.load("Auto-DevOps.gitlab-ci.yml")
        nested = gl.gitlabciymls.get("Jobs/Build")
        assert (nested.name, nested.content) == ("Jobs/Build", templates.load("Jobs/Build.gitlab-ci.yml"))
        project = gl.projects.get(site.world.project_id)
        assert [one.key for one in project.gitlabciyml_templates.list(get_all=True)] == listed
        assert project.gitlabciyml_templates.get("Jobs/Build").content == nested.content
        for none in (gl.dockerfiles, gl.gitignores, gl.licenses):
            assert none.list(get_all=True) == []
            with pytest.raises(gitlab.GitlabGetError, match="404"):
                none.get("mit")
        assert project.issue_templates.list(get_all=True) == []
        assert project.merge_request_templates.list(get_all=True) == []
        with pytest.raises(gitlab.GitlabGetError, match="404 Template Not Found"):
            project.license_templates.get("mit")
        gl.session.close()

    async with serving(site) as url:
        await asyncio.to_thread(play, url)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("templates/gitlab_ci_ymls/Build", 200),
        ("templates/gitlab_ci_ymls/SAST", 404),  # there are two
        ("templates/gitlab_ci_ymls/%2E%2E%2Ftemplates", 404),
        ("templates/gitlab_ci_ymls/no", 404),
        ("templates/gitlab_ci_ymls", 200),
        ("templates/invented", 400),
    ],
)
async def test_everybody_may_read_them_and_no_name_leads_elsewhere(site: Site, path: str, status: int) -> None:
    async with site.client() as nobody:
        assert (await nobody.get(f"/api/v4/{path}")).status_code == status


async def test_those_of_a_project_are_for_who_may_see_it(site: Site) -> None:
    path = f"/api/v4/projects/{site.world.project_id}/templates/gitlab_ci_ymls"
    cid = await site.person("cid", 10)
    async with site.client() as nobody, site.client(cid) as guest:
        assert (await nobody.get(path)).status_code == 404
        assert (await guest.get(path)).headers["x-total"] == str(len(templates.names()))
        assert (await guest.get(path[:-15] + "/invented")).status_code == 400
