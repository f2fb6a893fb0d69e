"""Images of jobs: pushed and pulled by skopeo, kept by Debian's docker-registry, permitted by our tokens."""

import asyncio
import tarfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from auth.key_certificates import certificate
from models.repositories.namespaces import namespaces
from models.repositories.projects import projects
from rigs.ports import free_port
from tests.api.v4.site import Site, open_site, serving
from tests.cli.running import run
from tests.e2e.images import Skopeo, layers_of, local_address, oci_image, registry
from tests.pods.two_pods import two_pods
from tests.production.engine import Engine, engine

pytestmark = pytest.mark.slow

CONFIG = "build: {script: a}\nother: {script: b}\n"


@dataclass
class Images:
    """A registry with a client."""

    site: Site
    skopeo: Skopeo
    folder: Path

    def name(self, image: str) -> str:
        """An image as tools write it."""
        return f"docker://{self.site.services.settings.registry_url}/{image}:latest"

    async def job(self) -> dict[str, Any]:
        """A job that runs, with its variables by name."""
        job = await self.site.world.job()
        job["known"] = {item["key"]: item["value"] for item in job["variables"]}
        return job


@pytest.fixture
async def images(tmp_path: Path, database_url: str) -> AsyncIterator[Images]:
    """An installation with a registry."""
    skopeo, address = Skopeo(tmp_path), local_address(free_port())
    async with open_site(tmp_path, database_url, registry_url=address) as site, serving(site) as url:
        bundle = tmp_path / "bundle.pem"
        bundle.write_bytes(certificate(site.services.identity_keys.signer()).public_bytes(Encoding.PEM))
        async with registry(tmp_path, address, url, bundle):
            oci_image(tmp_path / "image", "hello\n")
            await site.world.pipeline(CONFIG)
            yield Images(site, skopeo, tmp_path)


def signed_in(job: dict[str, Any]) -> str:
    """How the job's variables say that one signs in."""
    return f"{job['known']['CI_REGISTRY_USER']}:{job['known']['CI_REGISTRY_PASSWORD']}"


async def foreign_project(site: Site, visibility: str = "private") -> str:
    """Path of a second project in the same organisation."""
    now = site.services.clock()
    async with site.services.database.write() as connection:
        own = await projects.find(connection, site.world.project_id)
        assert own is not None
        owner = await namespaces.get_by(connection, key=own.organisation_id)
        key = await projects.create_project(connection, owner, "foreign", "Foreign", site.root.id, now)
        values = projects.project.update().where(projects.project.c.id == key).values(visibility=visibility)
        await connection.execute(values)
        row = await projects.find(connection, key)
    assert row is not None
    return str(row.full_path)


async def test_a_running_job_pushes_and_pulls_images_of_its_project(images: Images) -> None:
    job = await images.job()
    address = images.site.services.settings.registry_url
    assert job["known"]["CI_REGISTRY"] == address
    assert job["known"]["CI_REGISTRY_IMAGE"] == f"{address}/{await images.site.path()}"
    assert job["credentials"] == [
        {"type": "registry", "url": address, "username": "gitlab-ci-token", "password": job["token"]}
    ]
    target = f"docker://{job['known']['CI_REGISTRY_IMAGE']}/tools:latest"
    image, copy = images.folder / "image", images.folder / "copy"
    code, said = await images.skopeo.copy(f"oci:{image}:latest", target, push=signed_in(job))
    assert code == 0, said
    code, said = await images.skopeo.copy(target, f"oci:{copy}:latest", pull=signed_in(await images.job()))
    assert code == 0, said
    assert layers_of(copy) == layers_of(image)


async def test_a_job_is_refused_elsewhere_and_after_its_end(images: Images) -> None:
    job = await images.job()
    source, path = f"oci:{images.folder / 'image'}:latest", await images.site.path()
    for name in (await foreign_project(images.site), "nobody/nothing"):
        code, said = await images.skopeo.copy(source, images.name(name), push=signed_in(job))
        assert (code != 0, "403" in said) == (True, True), said
    await images.site.world.put(job, "success", b"")
    code, said = await images.skopeo.copy(source, images.name(path), push=signed_in(job))
    assert (code != 0, "403" in said) == (True, True), said


async def test_who_shows_a_wrong_secret_is_told_by_skopeo_what_is_wrong_with_it(images: Images) -> None:
    source, path = f"oci:{images.folder / 'image'}:latest", await images.site.path()
    code, said = await images.skopeo.copy(source, images.name(path), push="root:glpat-wrong")
    assert (code != 0, "That access token was revoked" in said) == (True, True), said


@pytest.mark.nightly
async def test_who_is_refused_is_told_by_docker_why(images: Images) -> None:
    """Docker prints the words of a refusal that has the registry's form, and of another one that it cannot read it."""
    registry_url, job = images.site.services.settings.registry_url, await images.job()
    with tarfile.open(images.folder / "empty.tar", "w"):
        pass
    async with engine() as made:
        foreign = f"{registry_url}/{await foreign_project(images.site)}:latest"
        await made.docker("import", "-", foreign, stdin=images.folder / "empty.tar")
        with pytest.raises(AssertionError, match="denied: Forbidden: you may do nothing of that with these images"):
            await _log_in_and_push(made, images, job["token"], foreign)
        with pytest.raises(AssertionError, match=r"unauthorized: HTTP Basic: Access denied\. That access token was"):
            await _log_in_and_push(made, images, "glpat-wrong", foreign)
        own = f"{registry_url}/{await images.site.path()}:latest"
        await made.docker("tag", foreign, own)
        await _log_in_and_push(made, images, job["token"], own)


async def _log_in_and_push(made: Engine, images: Images, secret: str, image: str) -> None:
    """AssertionError with what docker says when it is refused."""
    password = images.folder / "password"
    password.write_text(secret)
    address = images.site.services.settings.registry_url
    await made.docker("login", "--username=gitlab-ci-token", "--password-stdin", address, stdin=password)
    await made.docker("push", image)


async def test_people_use_images_as_their_level_permits_and_strangers_only_public_ones(images: Images) -> None:
    source, path = f"oci:{images.folder / 'image'}:latest", await images.site.path()
    developer, reporter = await images.site.person("dev", level=30), await images.site.person("rep", level=20)
    assert (await images.skopeo.copy(source, images.name(path), push=f"rep:{reporter.token}"))[0] != 0
    code, said = await images.skopeo.copy(source, images.name(path), push=f"dev:{developer.token}")
    assert code == 0, said

    async def pull(creds: str = "") -> int:
        return (await images.skopeo.copy(images.name(path), f"oci:{images.folder / 'copy'}:latest", pull=creds))[0]

    assert [await pull(f"rep:{reporter.token}"), await pull("rep:glpat-wrong") != 0, await pull() != 0] == [0, 1, 1]
    await images.site.set_project(visibility="public")
    assert await pull() == 0


async def test_one_registry_keeps_the_images_of_all_pods(
    tmp_path: Path, migrated_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs of each pod sign in at the router, and the registry believes what the command prints."""
    skopeo, address = Skopeo(tmp_path), local_address(free_port())
    image, bundle = oci_image(tmp_path / "image", "hello\n"), tmp_path / "bundle.pem"
    async with two_pods(tmp_path, migrated_file, registry_url=address) as cluster:
        monkeypatch.setenv("PERDURE_HOME", str(tmp_path))
        monkeypatch.setenv("PERDURE_EXTERNAL_URL", cluster.url)
        printed = await asyncio.to_thread(run, "keys", "certificates", "--all")
        bundle.write_text(printed.out)
        async with registry(tmp_path, address, cluster.url, bundle):
            for site in cluster.sites.values():
                await site.world.pipeline(CONFIG)
                job = await site.world.job()
                target = f"docker://{address}/{await site.path()}:latest"
                creds = f"gitlab-ci-token:{job['token']}"
                code, said = await skopeo.copy(f"oci:{image}:latest", target, push=creds)
                assert code == 0, said
                code, said = await skopeo.copy(
                    target, f"oci:{tmp_path / site.services.settings.pod}-copy:latest", pull=creds
                )
                assert code == 0, said
