"""Adds up what the test jobs handed on: `python3 ci/summary.py NODES OUTPUT.json`.

Fails loudly if a node's JUnit report or the report of the random expressions is not there, if a test is in two reports,
or if the reports together do not hold every test of the checkout.
"""

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

from junit import share


def reports(nodes):
    """The JUnit reports of all nodes."""
    for index in range(1, nodes + 1):
        path = Path(f"reports/unit-{index}.xml")
        if not path.is_file():
            sys.exit(f"{path} is missing: the artifacts of node {index} did not arrive")
        yield ElementTree.parse(path).getroot()


def main():
    """Write the sums; exit 1 if something is missing, doubled or failed."""
    nodes, output = int(sys.argv[1]), Path(sys.argv[2])
    suites = list(reports(nodes))
    names = [f"{case.get('classname')}.{case.get('name')}" for suite in suites for case in suite.iter("testcase")]
    failed = sum(int(suite.get("failures")) + int(suite.get("errors")) for suite in suites)
    random_report = Path("reports/fuzz.json")
    if not random_report.is_file():
        sys.exit(f"{random_report} is missing: the artifacts of the job fuzz did not arrive")
    expected = sorted(test.id() for test in share(1, 1))
    if sorted(names) != expected:
        sys.exit(f"the reports hold {len(names)} tests, the checkout has {len(expected)}")
    sums = {"tests": len(names), "failed": failed, "random": json.loads(random_report.read_text())["rounds"]}
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(sums, sort_keys=True) + "\n", encoding="utf-8")
    print(output.read_text().strip())
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
