"""As whom jobs of the built-in runner run on a machine, and what the runner is told."""

import os
import pwd
from pathlib import Path

import pytest

from cli.installation.job_rights import USER, with_job_rights
from domain.errors import NotFound, Refused
from pods.stack import hidden_folders, stack
from settings import Settings
from tests.fleet.job_users import OTHER, needs_namespaces, needs_root


def runner_options(settings: Settings) -> tuple[str, ...]:
    (runner,) = (child for child in stack(settings) if child.name == "runner")
    return runner.argv[runner.argv.index("--config") + 2 :]


@needs_root
def test_root_runs_them_as_a_user_that_is_made(tmp_path: Path) -> None:
    for _ in range(2):
        settings = with_job_rights(Settings(home=tmp_path))
        assert settings.jobs_as == USER
    made = pwd.getpwnam(USER)
    assert Path(made.pw_dir).stat().st_uid == made.pw_uid != 0
    assert runner_options(settings) == ("--user", USER, "--builds-dir", f"{made.pw_dir}/builds")


@needs_namespaces
def test_anybody_else_hides_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    settings = with_job_rights(Settings(home=tmp_path / "home", repositories=tmp_path / "git"))
    assert settings.jobs_as == "namespaces"
    hidden = [str(tmp_path / "config" / "perdure"), str(tmp_path / "git"), str(tmp_path / "home")]
    assert runner_options(settings) == tuple(word for path in hidden for word in ("--hide", path))


def test_folders_within_hidden_ones_are_hidden_with_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    objects = (tmp_path / "the objects").as_uri()
    assert hidden_folders(Settings(home=tmp_path / "h")) == (tmp_path / "h", tmp_path / "perdure")
    assert tmp_path / "the objects" in hidden_folders(Settings(home=tmp_path / "h", object_store=objects))
    assert len(hidden_folders(Settings(home=tmp_path / "h", object_store="s3://bucket/prefix"))) == 2


def test_where_there_is_no_way_they_run_as_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.installation.job_rights._without_namespaces", lambda _: "unshare: Operation not permitted")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    settings = with_job_rights(Settings(home=tmp_path))
    assert settings.jobs_as == "server"
    assert runner_options(settings) == ()
    with pytest.raises(Refused, match=r"PERDURE_JOBS_AS=namespaces does not work .*: unshare: Operation not permitted"):
        with_job_rights(Settings(home=tmp_path, jobs_as="namespaces"))


@needs_root
def test_what_somebody_asks_for_is_done_or_refused(tmp_path: Path) -> None:
    assert with_job_rights(Settings(home=tmp_path, jobs_as="server")).jobs_as == "server"
    with pytest.raises(NotFound, match="no user 'no such user'"):
        with_job_rights(Settings(home=tmp_path, jobs_as="no such user"))
    with pytest.raises(Refused, match="it is root"):
        with_job_rights(Settings(home=tmp_path, jobs_as="root"))
    with pytest.raises(Refused, match="hides nothing from root"):
        with_job_rights(Settings(home=tmp_path, jobs_as="namespaces"))
    with pytest.raises(Refused, match=f"PERDURE_JOBS_AS={OTHER}: the home of this user"):
        with_job_rights(Settings(home=tmp_path, jobs_as=OTHER))
    assert runner_options(Settings(home=tmp_path, jobs_as="no such user"))[:2] == ("--user", "no such user")
