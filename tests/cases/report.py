"""What became of the cases of one run."""

from dataclasses import dataclass, field


@dataclass
class Report:
    """Names of the cases that passed, and of the others with what was wrong."""

    passed: list[str] = field(default_factory=list)
    failed: dict[str, list[str]] = field(default_factory=dict)

    def note(self, name: str, faults: list[str]) -> None:
        """Count a case that was run: without faults it passed."""
        if faults:
            self.failed[name] = faults
        else:
            self.passed.append(name)

    def text(self) -> str:
        """Everything worth reading, the counts last."""
        lines: list[str] = []
        for name, faults in self.failed.items():
            lines += [f"FAILED {name}", *(f"  {fault}" for fault in faults)]
        return "\n".join([*lines, f"{len(self.passed)} passed, {len(self.failed)} failed"])
