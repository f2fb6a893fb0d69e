"""What steps try while they run: each ends as a failure with a sentence, and nothing of the run is left."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import psutil
import pytest

from steps.engine.run_folder import RunFolder
from steps.proto import runs_pb2 as product
from steps.proto import step_runner_pb2 as messages
from tests.steps.service.hostile_requests import STEP
from tests.steps.service.serving import HEADER, Served, served
from tests.steps.service.test_calls import all_of

ARRAY: Final = "spec: {outputs: {x: {type: array}}}"
NUMBER: Final = "spec: {outputs: {x: {type: number}}}"
TEXT: Final = "spec: {outputs: {x: {type: string}}}"


def command(text: str, spec: str = "{}") -> str:
    """A step that runs a script; `$1` is its output file, `$2` its export file."""
    words = f"[sh, -c, {json.dumps(text)}, sh, '${{{{ output_file }}}}', '${{{{ export_file }}}}']"
    return f"{spec}\n---\nexec: {{command: {words}}}\n"


def gives(value: str, spec: str) -> str:
    """A step whose output is this, as JSON."""
    return command(f"""echo '{json.dumps({"name": "x", "value": 0}).replace("0", value)}' > $1""", spec)


FILES: Final = {
    "self": f"{HEADER}run: [{{name: a, step: ../self}}]\n",
    "two": f"{HEADER}run: [{{name: a, step: ../two}}, {{name: b, step: ../two}}]\n",
    "ping": f"{HEADER}run: [{{name: a, step: ../pong}}]\n",
    "pong": f"{HEADER}run: [{{name: a, step: '${{{{ \"../ping\" }}}}'}}]\n",
    "grow": f"{{}}\n---\nenv: {{X: {'x' * 500_000}}}\n"
    f"run: [{{name: a, script: 'true', env: {{A: '${{{{ {' + '.join(['env.X'] * 20)} }}}}'}}}}]\n",
    "bomb": f"{HEADER}a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
    "deep": gives("[" * 90 + "]" * 90, ARRAY),
    "deeper": gives("[" * 300 + "]" * 300, ARRAY),
    "deepest": gives("[" * 30_000 + "]" * 30_000, ARRAY),
    "large": gives("1" + "0" * 30, NUMBER),
    "larger": gives("1" + "0" * 400, NUMBER),
    "largest": gives("1" * 10_000, NUMBER),
    "infinite": gives("[1e999]", ARRAY),
    "none": gives("NaN", NUMBER),
    "half": gives('"\\\\ud800"', TEXT),
    "exported": command("""printf '%s\\n' '{"name": "A", "value": "\\ud800"}' > $2"""),
    "nul": command("""printf '%s\\n' '{"name": "A", "value": "\\u0000"}' > $2"""),
    "path": command("""echo '{"name": "../A", "value": 1}' > $2"""),
    "huge": command("truncate -s 1T $1"),
    "zeros": command("head -c 2000000 /dev/zero > $2"),
    "link": command("ln -sf /etc/passwd $1"),
    "pipe": command("rm $1; mkfifo $1"),
    "folder": command("rm $2; mkdir $2"),
    "device": command("ln -sf /dev/zero $1"),
    "given": command("""echo '{"outputs": {"x": %s}}' > $1""" % ("[" * 90 + "]" * 90), "spec: {outputs: delegate}"),
    "list": "spec: {inputs: {x: {type: array}}}\n---\nexec: {command: ['true']}\n",
    "number": "spec: {inputs: {x: {type: number}}}\n---\nexec: {command: ['true']}\n",
}
LINKS: Final = {
    "kmsg.yml": "/proc/kmsg",
    "pagemap.yml": "/proc/self/pagemap",
    "zero.yml": "/dev/zero",
    "shadow.yml": "/etc/shadow",
    "loop.yml": "loop.yml",
}
"""Some are read without an end, or wait for what does not come."""
NESTED: Final = "steps are nested at most 64 times"
CASES: Final = [
    ("{name: a, step: ./self}", NESTED),
    ("{name: a, step: ./two}", NESTED),
    ("{name: a, step: ./ping}", NESTED),
    ("{name: a, step: ./grow}", "at most 4,194,304 are taken"),
    ("{name: a, step: ./bomb}", "grows to more than 500,000 values"),
    (f"{{name: a, step: '{'../' * 12}etc'}}", "there is no func.yml or step.yml in"),
    ("{name: a, step: /proc/self}", "there is no func.yml or step.yml in"),
    ("{name: a, step: ./kmsg.yml}", "kmsg.yml"),
    ("{name: a, step: ./pagemap.yml}", "pagemap.yml"),
    ("{name: a, step: ./zero.yml}", "there is no zero.yml in"),
    ("{name: a, step: ./shadow.yml}", "A step file has two documents"),
    ("{name: a, step: ./loop.yml}", "there is no loop.yml in"),
    ("{name: a, step: ./pipe.yml}", "there is no pipe.yml in"),
    (f"{{name: a, step: ./{'a' * 300}}}", "File name too long"),
    (f"{{name: a, step: ./{'a' * 3_000}}}", "a reference has at most 2,048 characters"),
    ('{name: a, step: "./a\\0b"}', "none of which controls anything"),
    ("{name: a, script: '${{ " + "(" * 10_000 + "1" + ")" * 10_000 + " }}'}", "nested more than 32 times"),
    ("{name: a, script: '${{ " + "-" * 10_000 + "1 }}'}", "nested more than 32 times"),
    ("{name: a, script: '${{ " + "1 + " * 100_000 + "1 }}'}", "gives no text"),
    ("{name: a, script: '${{ x'}", "`}}` is missing"),
    ("{name: a, script: '${{ env[\"A\" }}'}", "`]` is missing"),
    ("{name: a, step: 'host/x@--upload-pack=touch done'}", "begins with `-`"),
    ("{name: a, step: {git: {url: '--upload-pack=touch', rev: main}}}", "begins with `-`"),
    ("{name: a, step: {git: {url: 'ext::sh', rev: main}}}", "transport 'ext' not allowed"),
    ("{name: a, step: {git: {url: 'fd::0', rev: main}}}", "transport 'fd' not allowed"),
    ("{name: a, step: {git: {url: 'ssh://-oProxyCommand=touch/x', rev: main}}}", "strange hostname"),
    ("{name: a, step: {git: {url: 'file:///etc', rev: main}}}", "does not appear to be a git repository"),
    (f"{{name: a, step: {{git: {{url: 'file:///etc', rev: {'é' * 200}}}}}}}", "does not appear to be a git repository"),
    ("{name: a, step: {git: {url: 'file:///etc', rev: '../x'}}}", "is no revision"),
    ("{name: a, step: {git: {url: 'file:///etc', rev: 'a:b'}}}", "is no revision"),
    (f"{{name: a, step: {{git: {{url: 'file:///etc', rev: {'a' * 300}}}}}}}", "at most 255 are taken"),
    (f"{{name: a, step: {{git: {{url: 'file:///{'a' * 3_000}', rev: a}}}}}}", "at most 2,048 are taken"),
    ("{name: a, step: {git: {url: 'file:///etc', rev: a, dir: ../..}}}", "leads out of where the step is"),
    ("{name: a, step: {git: {url: 'file:///etc', rev: a, file: ../x}}}", "is no name of a file"),
    ("{name: a, step: {oci: {registry: a, repository: b, tag: '-c'}}}", "begins with `-`"),
    ("{name: a, step: {oci: {registry: a, repository: b, tag: c, dir: /etc}}}", "leads out of where the step is"),
    ("{name: a, step: 'builtin://../x'}", "is no name of a built-in step"),
    ("{name: a, step: ./deep}", "nested more than 20 times"),
    ("{name: a, step: ./deeper}", "nested more than 20 times"),
    ("{name: a, step: ./deepest}", "is no JSON"),
    ("{name: a, step: ./given}", "nested more than 20 times"),
    ("{name: a, step: ./large}", "a number that is too large"),
    ("{name: a, step: ./larger}", "a number that is too large"),
    ("{name: a, step: ./largest}", "is no JSON"),
    ("{name: a, step: ./infinite}", "a number that is not finite"),
    ("{name: a, step: ./none}", "is no number of JSON"),
    ("{name: a, step: ./half}", "half of a character"),
    ("{name: a, step: ./exported}", "half of a character"),
    ("{name: a, step: ./nul}", "cannot have the character NUL"),
    ("{name: a, step: ./path}", "is no name"),
    ("{name: a, step: ./huge}", "at most 1,048,576 bytes are read"),
    ("{name: a, step: ./zeros}", "at most 1,048,576 bytes are read"),
    ("{name: a, step: ./link}", "Too many levels of symbolic links"),
    ("{name: a, step: ./device}", "Too many levels of symbolic links"),
    ("{name: a, step: ./pipe}", "it is no file"),
    ("{name: a, step: ./folder}", "it is no file"),
    (f"{{name: a, step: ./list, inputs: {{x: {'[' * 60}{']' * 60}}}}}", "nested more than 20 times"),
    ("{name: a, step: ./number, inputs: {x: '${{ 99999999999999999999999 }}'}}", "a number that is too large"),
    ("{name: a, step: ./number, inputs: {x: '${{ 1e308 * 10 }}'}}", "the number is too large"),
    (f"{{name: a, script: 'true', env: {{A: {'a' * 200_000}}}}}", "Argument list too long"),
    ("{name: a, script: 'kill -9 $$'}", "exit code 137"),
]


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    async with served(tmp_path_factory.mktemp("hostile")) as found:
        for name, text in FILES.items():
            (folder := found.work / name).mkdir(parents=True)
            (folder / "step.yml").write_text(text)
        for name, target in LINKS.items():
            (found.work / name).symlink_to(target)
        os.mkfifo(found.work / "pipe.yml")
        yield found


@pytest.mark.parametrize(
    ("number", "call", "said"),
    [(number, *case) for number, case in enumerate(CASES)],
    ids=[f"{number} {call[10:40]}" for number, (call, _) in enumerate(CASES)],
)
async def test_it_fails_with_a_sentence_and_leaves_nothing(service: Served, number: int, call: str, said: str) -> None:
    run_id, text = f"r{number}", f"{HEADER}run: [{call}]"
    request = messages.RunRequest(id=run_id, work_dir=str(service.work), type=STEP, steps_yaml=text)
    async with asyncio.timeout(30), service.client() as client, service.product() as second:
        await client.Run(request)
        results = [one.result for one in await all_of(client.Follow(messages.FollowRequest(id=run_id)))]
        assert results[-1].status == messages.StepResult.failure
        assert said in " ".join(one.message for one in results), [one.message[:300] for one in results]
        await is_over(service, run_id)
        await second.Close(product.CloseRequest(id=run_id))
    assert not [*service.root.glob(f"*{run_id}*"), *service.root.glob(".*")]
    assert not (service.work / "done").exists()


async def is_over(service: Served, run_id: str) -> None:
    """The run has ended as failed, and neither by its mark nor by its group there is a process of it."""
    assert await service.ended(run_id) == messages.Job.failed
    leader = RunFolder(service.root / run_id).state().pid
    assert not service.left()
    assert [one for one in psutil.pids() if group_of(one) == leader] in ([], [leader]), "it is about to end itself"


def group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def test_there_are_many() -> None:
    assert len(CASES) >= 55


def credentials_in(folder: Path, secret: bytes) -> list[Path]:
    """Files in which a secret stands."""
    return [path for path in folder.rglob("*") if path.is_file() and secret in path.read_bytes()]


async def test_the_credentials_of_an_address_are_told_nowhere(service: Served) -> None:
    reference = "{git: {url: 'file://user:s3cret-word@localhost/etc', rev: main}}"
    request = messages.RunRequest(
        id="r", work_dir=str(service.work), type=STEP, steps_yaml=f"{HEADER}run: [{{name: a, step: {reference}}}]"
    )
    async with service.client() as client, service.product() as second:
        await client.Run(request)
        await service.ended("r")
        assert [path.name for path in credentials_in(service.root.parent, b"s3cret-word")] == ["request.json"]
        await second.Close(product.CloseRequest(id="r"))
