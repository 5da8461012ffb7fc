"""A table that prints itself as text."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Table:
    """Rows under a title; cells are shown as they are, None as a dash."""

    title: str
    header: list[str]
    rows: list[tuple[object, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, *cells: object) -> None:
        self.rows.append(cells)

    def __str__(self) -> str:
        lines = [[str(cell) if cell is not None else "-" for cell in row] for row in [tuple(self.header), *self.rows]]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.header))]
        text = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        ]
        text.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join([self.title, "", *text, *(f"  {note}" for note in self.notes), ""])
