"""The list of merge requests, and the form that opens one."""

import re
from urllib.parse import urlencode

import pytest

from tests import forms
from tests.api.pages.merge_requests.test_merge_request import OURS, Pages
from tests.api.pages.test_pages import EVIL, browser
from tests.api.v4.site import Site

HOSTILE_BRANCH = "\"><script>alert('x')</script>-$(reboot)"


@pytest.fixture
async def pages(site: Site) -> Pages:
    """A project with a first commit."""
    pages = Pages(site)
    await pages.merging.begin()
    return pages


def asked(source: str, target: str = "main") -> str:
    """The query of the form for two branches, by GitLab's names."""
    return "?" + urlencode({"merge_request[source_branch]": source, "merge_request[target_branch]": target})


def sent(source: str, **more: str) -> dict[str, str]:
    """The form as a browser sends it."""
    fields = {"source_branch": source, "target_branch": "main", "title": "Bring it", **more}
    return {f"merge_request[{name}]": value for name, value in fields.items()}


async def test_the_form_shows_what_would_be_merged_and_opens_it(pages: Pages) -> None:
    await pages.merging.commit("feature/my-fix", {"README": "fixed\n"}, message=f"Fix {EVIL}\n\nBecause.")
    assert "feature/my-fix" in await pages.get("/new")
    text = await pages.get("/new" + asked("feature/my-fix"))
    assert "1 commit<" in text
    assert "+fixed" in text
    assert 'value="Fix &lt;script&gt;' in text, "the title of the only commit is suggested"
    assert "Because." in text
    location = await pages.done("", None, **sent("feature/my-fix", description="Do it", draft="1", squash="1"))
    iid = int(location.rpartition("/")[2])
    made = await pages.merging.get(iid)
    assert (made["title"], made["description"]) == ("Draft: Bring it", "Do it")
    assert (made["squash"], made["force_remove_source_branch"]) == (True, True)
    again = await pages.press("", None, **sent("feature/my-fix", description="Kept"))
    assert again.status_code == 400
    assert f"Another open merge request already exists for this source branch: !{iid}" in again.text
    assert "Kept" in again.text


async def test_branches_with_hostile_names_stay_text(pages: Pages) -> None:
    await pages.merging.commit(HOSTILE_BRANCH, {"README": "fixed\n"})
    await pages.merging.commit(HOSTILE_BRANCH, {"README": "fixed twice\n"})
    await pages.get("/new" + asked(HOSTILE_BRANCH))
    location = await pages.done("", None, **sent(HOSTILE_BRANCH))
    text = await pages.get(f"/{location.rpartition('/')[2]}")
    assert "git fetch origin &#39;&#34;&gt;&lt;script&gt;" in text, "what is copied from there runs nothing else"
    await pages.get("")


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        ("main", "main", "two branches that are not the same"),
        ("none", "main", "There is no branch &#39;none&#39;"),
        ("one", "none", "There is no branch &#39;none&#39;"),
        ("old", "main", "there is nothing to merge yet"),
    ],
)
async def test_what_cannot_be_merged_is_told(pages: Pages, source: str, target: str, words: str) -> None:
    await pages.merging.good("POST", "repository/branches", params={"branch": "old", "ref": "main"})
    await pages.merging.commit("one", {"one": "1\n"})
    assert words in await pages.get("/new" + asked(source, target))


async def test_lists_count_search_and_page(pages: Pages) -> None:
    assert "git push -o merge_request.create" in await pages.get("")
    one = await pages.merging.feature("one")
    await pages.merging.feature("two", title="Draft: second %_ thing")
    closed = await pages.merging.feature("three")
    await pages.done(f"/{closed['iid']}/close")
    await pages.done(f"/{one['iid']}/approve")
    text = await pages.get("")
    assert re.findall(r'<li id="mr-(\d+)">', text) == ["2", "1"]
    assert [int(count) for count in re.findall(r'class="count">(\d+)<', text)] == [2, 0, 1, 3]
    assert "1 approval<" in text
    assert 'class="tag">Draft<' in text
    assert f'/-/pipelines/{one["head_pipeline"]["id"]}"' in text
    assert re.findall(r'<li id="mr-(\d+)">', await pages.get("?state=all&search=%25_")) == ["2"]
    assert re.findall(r'<li id="mr-(\d+)">', await pages.get("?state=closed&author_username=root")) == ["3"]
    assert "fits" in await pages.get("?author_username=nobody")
    async with browser(pages.site, pages.site.root) as client:
        assert (await client.get(f"/{await pages.site.path()}/-/merge_requests?state=odd")).status_code == 404


async def test_readers_open_none(pages: Pages) -> None:
    await pages.merging.commit("one", {"one": "1\n"})
    reader = await pages.site.person("reader", 20)
    await pages.get("/new", reader, status=403)
    assert (await pages.press("", reader, **sent("one"))).status_code == 403
    assert "New merge request" not in await pages.get("", reader)


async def test_a_fork_opens_one_into_the_project_that_it_comes_from(pages: Pages) -> None:
    here = pages.merging
    ada = await pages.site.person("ada", 20)
    fork = await here.good("POST", "fork", ada)
    await here.commit("main", {"a.txt": "from the fork\n"}, ada, project=fork["id"])
    query = urlencode({"merge_request[source_branch]": "main", "merge_request[target_project_id]": here.id})
    home = await pages.site.path()
    async with browser(pages.site, ada, **OURS, **forms.TOKEN) as client:
        form = await client.get(f"/{fork['path_with_namespace']}/-/merge_requests/new?{query}")
        assert "from the fork" in form.text
        assert f">{home}</option>" in form.text
        fields = sent("main", target_project_id=str(here.id))
        made = await client.post(f"/{fork['path_with_namespace']}/-/merge_requests", data=fields)
    assert made.headers["location"] == f"/{home}/-/merge_requests/1"
    text = await pages.get("/1")
    assert f"{fork['path_with_namespace']}:main" in text
    assert f'/-/pipelines/{(await here.get(1))["head_pipeline"]["id"]}"' in text
