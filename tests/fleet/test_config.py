"""config.toml, the system id, and errors that say where."""

from pathlib import Path

import pytest

from domain.errors import Invalid, NotFound, Refused
from domain.steps.places import Ssh
from fleet.config import RunnerEntry, add_runner, load_config, remove_runners, system_id

ENTRY = RunnerEntry('my "runner"', "http://127.0.0.1:8929", "glrt-t1_abcdefghijklm", id=12)


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_register_writes_what_run_reads(tmp_path: Path) -> None:
    file = tmp_path / "home/config.toml"
    add_runner(file, ENTRY)
    config = load_config(file)
    (entry,) = config.runners
    assert (entry.name, entry.url, entry.token, entry.id) == (ENTRY.name, ENTRY.url, ENTRY.token, 12)
    assert entry.builds_dir == tmp_path / "home/builds"
    assert (config.concurrent, config.check_interval) == (1, 3.0)
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["config.toml"]


def test_register_keeps_what_is_there(tmp_path: Path) -> None:
    file = write(tmp_path / "config.toml", "# mine\nconcurrent = 4\n[perdure]\nmax_retry_after = 5\n")
    add_runner(file, ENTRY)
    add_runner(file, RunnerEntry("second", "https://other", "glrt-2"))
    config = load_config(file)
    assert file.read_text().startswith("# mine\n")
    assert (config.concurrent, len(config.runners), config.backoff.retry_after_limit) == (4, 2, 5)


def test_removing_keeps_what_else_is_there(tmp_path: Path) -> None:
    entries = [
        f'# of {name}\n[[runners]]\n  name = "{name}"\n  url = "http://x"\n  token = "glrt-{name}"\n'
        "  [runners.machine]\n  # why\n"
        for name in ("a", "b", "c")
    ]
    path = write(tmp_path / "config.toml", "concurrent = 3\n" + "".join(entries))
    remove_runners(path, {"glrt-b", "glrt-unknown"})
    config = load_config(path)
    assert (config.concurrent, [entry.name for entry in config.runners]) == (3, ["a", "c"])
    assert path.read_text().count("# why") == 2
    remove_runners(path, {"glrt-a", "glrt-c"})
    assert load_config(path).runners == ()


def test_registering_twice_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    add_runner(file, ENTRY)
    before = file.read_bytes()
    with pytest.raises(Refused, match="already"):
        add_runner(file, ENTRY)
    assert file.read_bytes() == before


def test_all_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "glrt-9")
    file = write(
        tmp_path / "config.toml",
        """
concurrent = 8
check_interval = 1
shutdown_timeout = 5
[perdure]
state_dir = "/var/lib/x"
max_backoff = 2
deliver_for = 60
unsupported_keywords = "refuse"
[[runners]]
name = "n"
url = "https://h"
token = "$MY_TOKEN"
executor = "shell"
builds_dir = "/b"
limit = 2
output_limit = 8
environment = ["A=1", "B=x=y"]
tls-ca-file = "ca.pem"
[runners.docker]
image = "ignored"
""",
    )
    config = load_config(file)
    assert (config.concurrent, config.check_interval, config.shutdown_timeout) == (8, 1.0, 5.0)
    assert (config.state_dir, config.backoff.ceiling, config.deliver_for) == (Path("/var/lib/x"), 2.0, 60.0)
    assert config.unsupported_keywords == "refuse"
    (entry,) = config.runners
    assert (entry.token, entry.limit, entry.output_limit) == ("glrt-9", 2, 8192)
    assert entry.environment == (("A", "1"), ("B", "x=y"))
    assert (entry.builds_dir, entry.tls_ca_file) == (Path("/b"), tmp_path / "ca.pem")


RUNNER = "[[runners]]\nurl = 'http://h'\ntoken = 't'\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("concurrent = [", "not valid TOML"),
        ("concurrent = 0", "at least 1"),
        ('concurrent = "4"', "`concurrent` must be a number"),
        ("[[runners]]\nurl = 'http://h'", "number 1 needs"),
        ("[[runners]]\nurl = 'ftp://h'\ntoken = 't'", "number 1 needs"),
        ("[[runners]]\nurl = 'http://h'\ntoken = 't'\nexecutor = 'docker'", "executor 'docker'"),
        ("[[runners]]\nurl = 'http://h'\ntoken = 't'\nenvironment = ['A']", "`environment`"),
        (f"{RUNNER}steps = 3", r"\[runners.steps\] of \[\[runners\]\] number 1 must be a table"),
        (
            f"{RUNNER}[runners.steps]\nway = 'dokcer'",
            "config.toml: .*number 1: `way` is 'dokcer'.*did you mean `docker`",
        ),
        (f"{RUNNER}[runners.steps]\nway = 'docker'", "`container` is missing"),
        ("runners = 3", r"\[\[runners\]\]"),
        ("perdure = 3", r"\[perdure\]"),
        ("[perdure]\nunsupported_keywords = 'no'", "`unsupported_keywords` is 'no'; use one of run, refuse"),
    ],
)
def test_faults_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(Invalid, match=message):
        load_config(write(tmp_path / "config.toml", text))


def test_where_steps_run(tmp_path: Path) -> None:
    text = f"{RUNNER}[runners.steps]\nway = 'ssh'\nhost = 'build@10.0.0.4'\nidentity_file = 'key'"
    (entry,) = load_config(write(tmp_path / "config.toml", text)).runners
    assert entry.steps == Ssh("10.0.0.4", "build", identity_file=tmp_path / "key")
    for table in ("", "[runners.steps]\n", "[runners.steps]\nway = 'local'\n"):
        (entry,) = load_config(write(tmp_path / "config.toml", RUNNER + table)).runners
        assert entry.steps is None


def test_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="perdure runner register"):
        load_config(tmp_path / "config.toml")


@pytest.mark.parametrize(
    ("token", "short"),
    [
        ("glrt-t1_abcdefghijklm", "abcdefghi"),
        ("glrt-abc", "abc"),
        ("glrtr-a/b.c", "a_b_c"),
        ("plain-token", "plain-tok"),
    ],
)
def test_short_token(token: str, short: str) -> None:
    assert RunnerEntry("n", "http://h", token).short_token == short


def test_system_id_stays(tmp_path: Path) -> None:
    first = system_id(tmp_path)
    assert first[:2] in ("s_", "r_")
    assert len(first) == 14
    assert system_id(tmp_path) == first
    write(tmp_path / ".runner_system_id", "r_abcdefABCDEF\n")
    assert system_id(tmp_path) == "r_abcdefABCDEF"
    write(tmp_path / ".runner_system_id", "damaged")
    assert system_id(tmp_path)[:2] in ("s_", "r_")
