"""Files are written in one place of the package; whoever writes elsewhere says why here."""

from __future__ import annotations

import ast
from pathlib import Path

import sparseigen

SOURCE = Path(sparseigen.__file__).parent
ELSEWHERE = {
    "io/writing.py": "the one place",
    "operators/checkpoint.py": "answers are appended and flushed before the index, a whole file, speaks of them",
    "datasets/download.py": "a download is continued where it stopped",
    "datasets/fetch.py": "a download takes its name once its checksum fits",
    "datasets/archive.py": "an archive is unpacked into a folder that takes its name at the end",
    "cli/__init__.py": "streams that were closed are opened on the null device",
    "cli/commands.py": "completion scripts go where the shell looks for them",
    "cli/loading.py": "a copy of standard input in a temporary folder",
}
WRITING = {"write_text", "write_bytes", "savez", "savez_compressed", "savetxt", "tofile", "mkdir", "mkdtemp", "mkstemp",
           "NamedTemporaryFile", "TemporaryDirectory", "rename", "symlink_to", "touch", "extractall"}  # fmt: skip


def _writes(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name == "replace" and isinstance(call.func, ast.Attribute):
        return ast.unparse(call.func.value) == "os"
    if name == "open":
        given = [*call.args, *(word.value for word in call.keywords if word.arg == "mode")]
        modes = [part.value for part in given if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        return any(set(mode) <= set("rwxabt+") and set(mode) & set("wxa+") for mode in modes)
    return name in WRITING


def test_who_writes() -> None:
    found = set()
    for path in SOURCE.rglob("*.py"):
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        if any(_writes(call) for call in calls):
            found.add(path.relative_to(SOURCE).as_posix())
    assert found <= set(ELSEWHERE), f"write through io/writing.py, or say why not: {sorted(found - set(ELSEWHERE))}"
    assert "io/writing.py" in found
