"""The parts of the paper: one module each, with a list `PIECES` and perhaps a list `FIGURES`."""

from __future__ import annotations

from importlib import import_module

from benchmarks.paper.pieces import Figure, Piece

MODULES = ("theory", "toy", "speed", "pitprops", "genes", "newsgroups", "web_graphs", "air_travel")
"""Modules of this folder, in the order of the paper. A new part is a file here and its name in this row."""


def all_pieces() -> dict[str, Piece]:
    """Every piece by its name, part/dataset/solver."""
    pieces: dict[str, Piece] = {}
    for module in MODULES:
        for piece in import_module(f"benchmarks.paper.parts.{module}").PIECES:
            if piece.name in pieces:
                raise ValueError(f"two pieces are called {piece.name!r}; the second is in parts/{module}.py.")
            pieces[piece.name] = piece
    return pieces


def all_figures() -> list[Figure]:
    """Every figure, in the order of the paper."""
    found = (getattr(import_module(f"benchmarks.paper.parts.{module}"), "FIGURES", []) for module in MODULES)
    return [figure for figures in found for figure in figures]
