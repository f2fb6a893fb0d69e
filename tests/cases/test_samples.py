"""The case files that lie beside this: what the product does with them, and that the runner notices what is wrong."""

from pathlib import Path

import pytest
import yaml

from tests.cases import config, processing
from tests.cases.__main__ import main

SAMPLES = Path(__file__).parent / "samples"
MORE = Path(__file__).parent / "more"


FOLDERS = [
    pytest.param("domain", SAMPLES / "processing", id="samples-domain"),
    pytest.param("temporal", SAMPLES / "processing", id="samples-temporal"),
    pytest.param("domain", SAMPLES / "truth", id="truth-domain"),
    pytest.param("temporal", SAMPLES / "truth", id="truth-temporal"),
    pytest.param("domain", MORE / "processing", id="more-domain"),
    pytest.param("temporal", MORE / "processing", id="more-temporal", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("engine", "folder"), FOLDERS)
async def test_every_processing_scenario_passes(engine: str, folder: Path) -> None:
    paths = processing.scenarios_in(folder)
    report = await processing.run_files(paths, processing.ENGINES[engine])
    assert report.failed == {}
    assert len(report.passed) == len(paths)


@pytest.mark.parametrize("path", [SAMPLES / "config.jsonl", *sorted(MORE.glob("*.jsonl"))], ids=lambda path: path.stem)
def test_every_configuration_case_passes(path: Path) -> None:
    report = config.run_file(path)
    assert report.failed == {}
    assert len(report.passed) == len(path.read_text().splitlines())


@pytest.mark.parametrize("engine", sorted(processing.ENGINES))
def test_what_goes_wrong_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str], engine: str) -> None:
    sample = (SAMPLES / "processing" / "06-stage-on-failure-with-no-previous-stage.yml").read_text()
    assert sample.count("panic-job: skipped") == 2
    (tmp_path / "wrong.yml").write_text(sample.replace("panic-job: skipped", "panic-job: pending", 1))
    refused = yaml.safe_load(sample)
    refused |= {"name": "refused", "transitions": [{"event": "unschedule", "jobs": ["main-job"], "expect": {}}]}
    (tmp_path / "refused.yml").write_text(yaml.safe_dump(refused))
    (tmp_path / "unreadable.yml").write_text("name: unreadable")
    assert main(["processing", str(tmp_path), "--engine", engine]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "step 1 (unschedule main-job): Refused(" in lines[1]
    assert "only a scheduled job can be unscheduled" in lines[1]
    assert "is not a scenario" in next(line for line in lines if "unreadable.yml" in line)
    assert "  step 0 (created): jobs: panic-job is skipped, not pending" in lines
    assert lines[-1] == "0 passed, 3 failed"


def test_a_wrong_configuration_expectation_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = (SAMPLES / "config.jsonl").read_text().splitlines()[0]
    assert '"script": ["make"]' in sample
    (tmp_path / "wrong.jsonl").write_text(sample.replace('"script": ["make"]', '"script": ["fake"]'))
    assert main(["config", str(tmp_path / "wrong.jsonl")]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "0 passed, 1 failed"
