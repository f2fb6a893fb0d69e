"""SSH keys of people: records that are added, listed, found by fingerprint and removed over the REST API."""

import asyncio
from datetime import timedelta

import gitlab

from auth.ssh_key import read_public_key
from tests.api.v4.site import Site, serving
from tests.api.v4.told_faults import told_faults

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + "D" * 43


async def test_python_gitlab_adds_lists_finds_and_removes_keys(site: Site) -> None:
    ada = await site.person("ada")

    def talk(url: str) -> None:
        mine, root = gitlab.Gitlab(url, private_token=ada.token), gitlab.Gitlab(url, private_token=site.root.token)
        mine.auth()
        assert mine.user is not None
        made = mine.user.keys.create({"title": "laptop", "key": f"{KEY} ada@laptop"})
        assert (made.title, made.key, made.usage_type) == ("laptop", f"{KEY} ada@laptop", "auth_and_signing")
        assert [one.id for one in mine.user.keys.list(get_all=True)] == [made.id]
        of_ada = root.users.get(ada.id).keys
        assert [one.id for one in of_ada.list(get_all=True)] == [of_ada.get(made.id).id] == [made.id]
        known = read_public_key(KEY)
        for found in (
            root.keys.get(made.id),
            root.keys.get(fingerprint=f"SHA256:{known.sha256}"),
            root.keys.get(fingerprint=known.md5),
        ):
            assert (found.id, found.user["username"]) == (made.id, "ada")
        mine.user.keys.delete(made.id)
        another = of_ada.create({"title": "by root", "key": KEY})
        of_ada.delete(another.id)
        assert mine.user.keys.list(get_all=True) == []
        for api in (mine, root):
            api.session.close()

    async with serving(site) as url:
        await asyncio.to_thread(talk, url)
    async with site.client(site.root) as client:
        events = (await client.get("/api/v4/audit_events", params={"entity_type": "User"})).json()
    assert [event["event_name"] for event in events[:4]] == ["ssh_key_removed", "ssh_key_created"] * 2


async def test_a_key_is_kept_once_and_only_administrators_touch_those_of_others(site: Site) -> None:
    ada, ben = await site.person("ada"), await site.person("ben")
    async with site.client(ada) as client:
        made = (await client.post("/api/v4/user/keys", json={"title": "laptop", "key": KEY})).json()
        again = await client.post("/api/v4/user/keys", json={"title": "again", "key": f"{KEY} another comment"})
        assert (again.status_code, "has already been taken" in told_faults(again)) == (400, True)
    async with site.client(ben) as client:
        taken = await client.post("/api/v4/user/keys", json={"title": "mine", "key": KEY})
        assert taken.status_code == 400
        key, of_ada = made["id"], f"/api/v4/users/{ada.id}/keys"
        assert (await client.get(f"/api/v4/user/keys/{key}")).status_code == 404
        assert (await client.delete(f"/api/v4/user/keys/{key}")).status_code == 404
        assert [one["id"] for one in (await client.get(of_ada)).json()] == [key]
        assert (await client.post(of_ada, json={"title": "x", "key": KEY})).status_code == 403
        assert (await client.delete(f"{of_ada}/{key}")).status_code == 403
        for path in (f"/api/v4/keys/{key}", "/api/v4/keys?fingerprint=SHA256:x"):
            assert (await client.get(path)).status_code == 403
    async with site.client(site.root) as client:
        assert (await client.get("/api/v4/keys")).json() == {"message": "fingerprint is missing"}
        assert (await client.get("/api/v4/keys?fingerprint=SHA256:x")).status_code == 404
        assert (await client.get("/api/v4/users/999/keys")).status_code == 404
    async with site.client() as client:
        assert (await client.get(of_ada)).status_code == 401


async def test_what_is_wrong_with_a_key_is_said(site: Site) -> None:
    now = site.services.clock()
    async with site.client(site.root) as client:
        for body, said in (
            ({"key": KEY}, "title is missing"),
            ({"title": "x"}, "key is missing"),
            ({"title": "x", "key": "ssh-ed25519 AAAA"}, "key is invalid"),
            ({"title": "x", "key": KEY, "usage_type": "all"}, "usage_type does not have a valid value"),
            ({"title": "x", "key": KEY, "expires_at": (now - timedelta(1)).isoformat()}, "must be a time to come"),
        ):
            refused = await client.post("/api/v4/user/keys", json=body)
            assert (refused.status_code, said in told_faults(refused)) == (400, True), refused.text
        until = (now + timedelta(days=1)).replace(microsecond=0)
        body = {"title": "x", "key": KEY, "usage_type": "signing", "expires_at": until.isoformat()}
        made = (await client.post("/api/v4/user/keys", json=body)).json()
        assert (made["usage_type"], made["expires_at"]) == ("signing", until.strftime("%Y-%m-%dT%H:%M:%S.000Z"))
