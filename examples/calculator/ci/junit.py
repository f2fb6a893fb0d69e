"""Runs this node's share of the unit tests and writes a JUnit report.

`python3 ci/junit.py OUTPUT.xml`; CI_NODE_INDEX (from 1) and CI_NODE_TOTAL choose every n-th test, all without them.
Exits 1 if a test failed or none was found.
"""

import os
import sys
import time
import unittest
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def every_test(suite):
    """The single tests of a suite of suites."""
    for entry in suite:
        if isinstance(entry, unittest.TestSuite):
            yield from every_test(entry)
        else:
            yield entry


def share(index, total):
    """The tests of node `index` of `total`, the same on every machine."""
    found = sorted(every_test(unittest.defaultTestLoader.discover(str(ROOT / "tests"), top_level_dir=str(ROOT))), key=str)
    return found[index - 1 :: total]


class Record(unittest.TextTestResult):
    """Keeps seconds and fault of each test."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.cases = {}

    def startTest(self, test):
        super().startTest(test)
        self.cases[test] = {"started": time.perf_counter(), "seconds": 0.0, "fault": None}

    def stopTest(self, test):
        super().stopTest(test)
        self.cases[test]["seconds"] = time.perf_counter() - self.cases[test]["started"]

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.cases[test]["fault"] = ("failure", self.failures[-1][1])

    def addError(self, test, error):
        super().addError(test, error)
        if test in self.cases:
            self.cases[test]["fault"] = ("error", self.errors[-1][1])

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.cases[test]["fault"] = ("failure", f"{subtest}: {error[1]}")


def report(record, name):
    """The JUnit tree of a finished run."""
    faults = [case["fault"][0] for case in record.cases.values() if case["fault"]]
    suite = ElementTree.Element(
        "testsuite",
        name=name,
        tests=str(len(record.cases)),
        failures=str(faults.count("failure")),
        errors=str(faults.count("error")),
        time=f"{sum(case['seconds'] for case in record.cases.values()):.6f}",
    )
    for test, case in record.cases.items():
        place, _, method = test.id().rpartition(".")
        entry = ElementTree.SubElement(
            suite, "testcase", classname=place, name=method, time=f"{case['seconds']:.6f}"
        )
        if case["fault"]:
            kind, text = case["fault"]
            ElementTree.SubElement(entry, kind, message=text.strip().splitlines()[-1]).text = text
    return ElementTree.ElementTree(suite)


def main():
    """Run, write, tell."""
    output = Path(sys.argv[1])
    index, total = int(os.environ.get("CI_NODE_INDEX", "1")), int(os.environ.get("CI_NODE_TOTAL", "1"))
    tests = share(index, total)
    if not tests:
        sys.exit(f"node {index} of {total} has no test: are there fewer tests than nodes?")
    record = unittest.TextTestRunner(verbosity=2, resultclass=Record).run(unittest.TestSuite(tests))
    output.parent.mkdir(parents=True, exist_ok=True)
    report(record, f"unit {index}/{total}").write(output, encoding="utf-8", xml_declaration=True)
    print(f"{len(tests)} tests of node {index}/{total} written to {output}")
    sys.exit(0 if record.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
