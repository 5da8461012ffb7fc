"""Raw results on disk: written whole or not at all, and used again only for the same code, data and settings."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import tempfile
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paper.pieces import Piece, Raw, Settings

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "reproduce"


def _digest(paths: list[Path]) -> str:
    total = hashlib.sha256()
    for path in paths:
        total.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()[:20]


@cache
def _package_version() -> str:
    sources = [p for folder in ("src/sparseigen", "src/cpp") for p in (ROOT / folder).rglob("*")]
    return _digest(sorted(p for p in sources if p.suffix in (".py", ".cpp", ".hpp", ".h")))


@cache
def _imported(module: str) -> frozenset[str]:
    """The modules of the benchmarks folder that a module imports, itself and theirs included."""
    path = ROOT.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("benchmarks"):
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names if alias.name.startswith("benchmarks"))
    found = {module}
    for name in names:
        below = ROOT.joinpath(*name.split("."))
        if name != module and (below.is_dir() or below.with_suffix(".py").is_file()):
            found |= _imported(name)
    return frozenset(found)


@cache
def _code_version(module: str) -> str:
    files = [ROOT.joinpath(*name.split(".")) for name in _imported(module)]
    return _digest(sorted(f / "__init__.py" if f.is_dir() else f.with_suffix(".py") for f in files))


@cache
def _file_version(path: Path) -> str:
    return _digest([path])


def key_of(piece: Piece, settings: Settings, data: Path | None) -> str:
    """Everything a stored result depends on, as one line."""
    files = {name: _file_version(data / name) for name in piece.files} if data is not None else {}
    versions = {
        "package": _package_version(),
        "code": _code_version(getattr(piece.run, "func", piece.run).__module__),
        "numpy": np.__version__,
    }
    content = {"piece": piece.name, "blocks": piece.blocks, "settings": asdict(settings), "files": files, **versions}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def path_of(piece: Piece, block: int, folder: Path) -> Path:
    number = f".{block + 1}of{piece.blocks}" if piece.blocks > 1 else ""
    return folder / piece.part / f"{piece.dataset}.{piece.solver}{number}.json"


def read(path: Path, key: str) -> dict[str, Any] | None:
    """What was stored under this key; None when there is nothing, something else, or a damaged file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    complete = isinstance(content, dict) and {"key", "raw", "seconds"} <= set(content)
    return content if complete and content["key"] == key else None


def write(path: Path, key: str, raw: Raw, seconds: float) -> None:
    """Store a result so that an interruption leaves the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-", suffix=".json")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({"key": key, "seconds": seconds, "raw": raw}, file)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
