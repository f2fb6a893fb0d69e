"""Comments on commits, by an unmodified python-gitlab."""

import asyncio

import gitlab
import pytest

from tests.api.v4.site import Site, serving


async def test_python_gitlab_comments_on_commits(site: Site) -> None:
    sha = await site.commit({"README": "x\n"})

    def play(url: str) -> None:
        gl = gitlab.Gitlab(url, private_token=site.root.token)
        commit = gl.projects.get(site.world.project_id).commits.get("main")
        made = commit.comments.create({"note": "Fine ä"})
        assert (made.note, made.path, made.line, made.line_type) == ("Fine ä", None, None, None)
        assert made.author["username"] == "root"
        commit.comments.create({"note": "Why?", "path": "README", "line": 1, "line_type": "new"})
        listed = commit.comments.list(get_all=True, per_page=1)
        assert [(one.note, one.path, one.line, one.line_type) for one in listed] == [
            ("Fine ä", None, None, None),
            ("Why?", "README", 1, "new"),
        ]
        for wrong in ({"note": ""}, {"note": "x", "path": "README"}, {"note": "x", "line_type": "both"}):
            with pytest.raises(gitlab.GitlabCreateError, match="400"):
                commit.comments.create(wrong)
        gl.session.close()

    async with serving(site) as url:
        await asyncio.to_thread(play, url)
    async with site.client(site.root) as client:
        path = f"/api/v4/projects/{site.world.project_id}/repository/commits/{sha}/comments"
        assert len((await client.get(path)).json()) == 2
        assert (await client.get(path.replace(sha, "none"))).status_code == 404


async def test_whoever_reads_the_code_may_comment_on_it(site: Site) -> None:
    await site.commit({"README": "x\n"})
    await site.set_project(visibility="private")
    path = f"/api/v4/projects/{site.world.project_id}/repository/commits/main/comments"
    for level, status in ((0, 404), (10, 403), (20, 201)):
        person = await site.person(f"level{level}", level)
        async with site.client(person) as client:
            assert (await client.post(path, json={"note": "x"})).status_code == status
    await site.set_project(visibility="public")
    async with site.client() as nobody:
        assert len((await nobody.get(path)).json()) == 1
        assert (await nobody.post(path, json={"note": "x"})).status_code == 401
    await site.set_project(archived=True)
    async with site.client(site.root) as client:
        assert (await client.post(path, json={"note": "x"})).status_code == 403
