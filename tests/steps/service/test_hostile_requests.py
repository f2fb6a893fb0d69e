"""What no caller may bring about: each request is refused with a code, starts nothing and leaves nothing."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from steps.grpc_library import grpc
from steps.proto import runs_pb2 as product
from steps.proto import step_runner_pb2 as messages
from tests.steps.service.serving import HEADER, Served, served

STEP, SCRIPT = messages.RunRequest.step, messages.RunRequest.script
BAD_NAMES = ("", "1A", "A-B", "A.B", "A B", "A=B", "É", "A\n", "A\0", "$A", "A;B", "-A", "()", " A", "A ", "٣A")
BAD_IDS = (
    "", ".", "..", "/", "a/b", "../x", "/etc", "a\\b", "-a", ".a", "_a", "a b", "a\n", "a\0", "é", "a" * 129,
    "a;b", "$(x)", "~", "*",
)  # fmt: skip
BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(8)
)
BAD_STEPS = (
    "", "x", "[]", "run: []", "{}", "{}\n---\n", "{}\n---\n[]", "{}\n---\nrun: {}", "{}\n---\nrun: [1]",
    "{}\n---\nrun: [{name: a}]", "{}\n---\nrun: [{script: x}]", "{}\n---\nrun: [{name: 'a/b', script: x}]",
    "{}\n---\nrun: [{name: a, script: x, step: y}]", "{}\n---\nrun: [{name: a, script: x}, {name: a, script: y}]",
    "{}\n---\nrun: [{name: a, script: x, unknown: 1}]", "{}\n---\nrun: [{name: a, script: x, env: {A-B: c}}]",
    "{}\n---\nrun: [{name: a, step: x, inputs: [1]}]", "{}\n---\nexec: {}", "{}\n---\nexec: {command: x}",
    "{}\n---\n{exec: {command: [a]}, run: []}", "{}\n---\n!!python/object/apply:os.system ['touch done']",
    "{}\n---\nrun: &a [*a]", "{}\n---\n" + "[" * 5_000, "{}\n---\n" + "{a: " * 5_000, f"{{}}\n---\n{BOMB}",
    "{}\n---\nrun: [" + "{name: a, script: x}," * 2_000 + "]", "%YAML 9\n---", "\x00", "\ufeff\ufeff",
    "{}\n---\n<<: *x",
    "spec: {inputs: {a: {type: string, default: 1}}}\n---\nexec: {command: [a]}",
)  # fmt: skip
_NUMBERED = tuple(enumerate(BAD_STEPS))
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    *((f"name {name!r}", {"env": {name: "x"}}) for name in BAD_NAMES),
    *((f"id {run_id!r}"[:40], {"id": run_id}) for run_id in BAD_IDS),
    *((f"steps {number}", {"type": STEP, "ci_script": "", "steps_yaml": text}) for number, text in _NUMBERED),
    ("type unknown", {"type": messages.RunRequest.unknown}),
    ("type beyond", {"type": 7}),
    ("nothing", {"ci_script": ""}),
    ("both", {"steps_yaml": f"{HEADER}run: [{{name: a, script: x}}]"}),
    ("both, as steps", {"type": STEP, "steps_yaml": f"{HEADER}run: [{{name: a, script: x}}]"}),
    ("steps twice", {"type": STEP, "ci_script": "", "steps_yaml": "x", "steps": [messages.Step(name="a", script="x")]}),
    ("a step without work", {"type": STEP, "ci_script": "", "steps": [messages.Step(name="a")]}),
    ("a step without a name", {"type": STEP, "ci_script": "", "steps": [messages.Step(script="x")]}),
    ("a value with NUL", {"env": {"A": "x\0y"}}),
    ("a folder with NUL", {"work_dir": "/tmp/x\0y"}),
]


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    async with served(tmp_path_factory.mktemp("hostile")) as found:
        yield found


@pytest.mark.parametrize(("what", "change"), REQUESTS, ids=[what for what, _ in REQUESTS])
async def test_it_is_refused_starts_nothing_and_leaves_nothing(
    service: Served, what: str, change: dict[str, Any]
) -> None:
    good = {"id": "r", "work_dir": str(service.work), "type": SCRIPT, "ci_script": f"touch {service.folder}/done"}
    async with service.client() as client:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await client.Run(messages.RunRequest(**{**good, **change}))
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT, refused.value.details()
        assert refused.value.details()
        assert not (await client.List(messages.ListRequest())).jobs
    assert list(service.root.iterdir()) == []
    assert not (service.folder / "done").exists()
    assert not service.left()


def test_there_are_many() -> None:
    assert len(REQUESTS) >= 75


@pytest.mark.parametrize(
    ("name", "call", "said"),
    [
        ("endless", "{name: a, step: ./self}", "steps are nested at most 64 times"),
        ("out", "{name: a, step: '../../../../../../etc'}", "there is no func.yml or step.yml in"),
        ("expression", "{name: a, script: '${{ " + "(" * 500 + "1" + ")" * 500 + " }}'}", "nested more than 32 times"),
        ("unclosed", "{name: a, script: '${{ x'}", "character 6: `}}` is missing"),
        ("growing", "{name: a, step: ./grow}", "at most 4,194,304 are taken"),
        ("option", "{name: a, step: 'host/x@--upload-pack=touch done'}", "begins with `-`"),
    ],
)
async def test_what_is_seen_only_when_its_turn_comes_fails_with_a_sentence(
    service: Served, name: str, call: str, said: str
) -> None:
    (service.work / "self").mkdir(parents=True, exist_ok=True)
    (service.work / "self/step.yml").write_text("{}\n---\nrun: [{name: a, step: ../self}]\n")
    (service.work / "grow").mkdir(exist_ok=True)
    twenty = " + ".join(["env.X"] * 20)
    grown = f"run: [{{name: a, script: 'true', env: {{A: '${{{{ {twenty} }}}}'}}}}]"
    (service.work / "grow/step.yml").write_text(f"{{}}\n---\nenv: {{X: {'x' * 500_000}}}\n{grown}\n")
    request = messages.RunRequest(id=name, work_dir=str(service.work), type=STEP, steps_yaml=f"{HEADER}run: [{call}]")
    async with service.client() as client:
        await client.Run(request)
        results = [one.result async for one in client.Follow(messages.FollowRequest(id=name))]
    texts = " ".join(one.message for one in results)
    assert said in texts, texts
    assert results[-1].status == messages.StepResult.failure
    assert not service.left()
    async with service.product() as second:
        await second.Close(product.CloseRequest(id=name))
