"""The case files that lie beside this: what the product does with them, and that the runner notices what is wrong."""

from pathlib import Path

import pytest

from tests.cases import config, processing
from tests.cases.__main__ import main
from tests.cases.core_engine import CoreEngine

SAMPLES = Path(__file__).parent / "samples"
MORE = Path(__file__).parent / "more"


def test_every_processing_sample_passes() -> None:
    report = processing.run_folder(SAMPLES / "processing", CoreEngine)
    assert report.failed == {}
    assert len(report.passed) == len(list((SAMPLES / "processing").glob("*.yml")))


@pytest.mark.parametrize("path", [SAMPLES / "config.jsonl", *sorted(MORE.glob("*.jsonl"))], ids=lambda path: path.stem)
def test_every_configuration_case_passes(path: Path) -> None:
    report = config.run_file(path)
    assert report.failed == {}
    assert len(report.passed) == len(path.read_text().splitlines())


def test_a_wrong_expectation_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = (SAMPLES / "processing" / "06-stage-on-failure-with-no-previous-stage.yml").read_text()
    assert sample.count("panic-job: skipped") == 2
    (tmp_path / "wrong.yml").write_text(sample.replace("panic-job: skipped", "panic-job: pending", 1))
    assert main(["processing", str(tmp_path), "--engine", "domain"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "step 0 (created): jobs: panic-job is skipped, not pending" in lines[1]
    assert lines[-1] == "0 passed, 1 failed"


def test_a_wrong_configuration_expectation_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = (SAMPLES / "config.jsonl").read_text().splitlines()[0]
    assert '"script": ["make"]' in sample
    (tmp_path / "wrong.jsonl").write_text(sample.replace('"script": ["make"]', '"script": ["fake"]'))
    assert main(["config", str(tmp_path / "wrong.jsonl")]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "0 passed, 1 failed"
