"""Records in words: shared by the tables in Markdown and the terminal."""

from __future__ import annotations

from benchmarks.speed.records import Record, Run


def described_machine(run: Run) -> str:
    facts = run.machine
    return (
        f"{facts['processor']}, {facts['cores']} cores, {facts['memory_gb']} GB, {facts['system']}, "
        f"{facts['kernels']} kernels; load before the run {facts['load_before']}"
    )


def versions_line(run: Run) -> str:
    return ", ".join(f"{name} {version}" for name, version in run.versions.items())


def milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    value = 1e3 * seconds
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def share_of_ours(record: Record) -> str:
    """The value over ours at the same cardinality; all digits that tell a loss from a tie."""
    if record.value is None or not record.reference:
        return "-"
    share = record.value / record.reference
    return "1" if abs(share - 1.0) <= 1e-12 else f"{share:.6f}" if abs(share - 1.0) > 1e-6 else f"1{share - 1.0:+.1e}"


def place(record: Record) -> str:
    """The setting in one line."""
    return ", ".join(f"{name} = {value}" if name != "cell" else str(value) for name, value in record.setting.items())
