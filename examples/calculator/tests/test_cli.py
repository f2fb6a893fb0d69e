"""The command as a person uses it."""

import io
import subprocess
import sys
import unittest
from contextlib import redirect_stderr, redirect_stdout

from calculator.cli import main


def run(*arguments, lines=()):
    """Exit code, output and error output of the command."""
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        code = main(list(arguments), lines)
    return code, output.getvalue(), errors.getvalue()


class Command(unittest.TestCase):
    def test_prints_each_value(self):
        self.assertEqual(run("1 + 2 * 3", "0.1 + 0.2"), (0, "7\n0.3\n", ""))

    def test_exact(self):
        self.assertEqual(run("--exact", "1 / 3")[1], "1/3\n")

    def test_no_negative_zero(self):
        self.assertEqual(run("0 * (0 - 1)")[1], "0\n")

    def test_reads_lines_and_keeps_variables(self):
        self.assertEqual(run(lines=["x = 2\n", "\n", "x ^ 5\n"])[1], "2\n32\n")

    def test_a_fault_is_shown_with_a_caret_and_the_rest_still_runs(self):
        code, output, errors = run("1 / 0", "2")
        self.assertEqual((code, output), (1, "2\n"))
        self.assertEqual(errors, "error: division by zero\n  1 / 0\n    ^\n")

    def test_module_can_be_started(self):
        done = subprocess.run([sys.executable, "-m", "calculator", "6 * 7"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, "42\n"))
