"""Where a fault can be put, and the module with it."""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.MatMult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
CALLS = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any",
         "argmax": "argmin", "argmin": "argmax", "floor": "ceil", "ceil": "floor"}  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """One change of one expression."""

    module: str
    """The file, below src."""
    line: int
    statement: int
    """The line its statement begins on."""
    where: str
    """The function it is in."""
    before: str
    after: str
    index: int
    """Which node of the module, and which of its changes: what `mutated` needs to find it again."""
    variant: int
    ordinal: int
    """The how-manieth change of this text in its function."""
    text: str
    """The line it is on."""
    version: str
    """Changes with the function: an outcome is kept for as long as this stays."""

    @property
    def key(self) -> str:
        """A name that survives edits elsewhere in the file."""
        again = f" #{self.ordinal}" if self.ordinal > 1 else ""
        return f"{self.module}:{self.where}: {self.before} -> {self.after}{again}"


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Every faulty version of a node."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in COMPARISONS.get(type(node.ops[0]), ()):
            yield ast.Compare(node.left, [other()], node.comparators)
    elif isinstance(node, ast.BinOp) and ARITHMETIC.get(type(node.op)) not in (None, type(node.op)):
        yield ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, float):
        yield ast.Constant(node.value * 2 + (node.value == 0))
    elif isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in CALLS:
            other = copy.deepcopy(node)
            if isinstance(other.func, ast.Attribute):
                other.func.attr = CALLS[name]
            elif isinstance(other.func, ast.Name):
                other.func.id = CALLS[name]
            yield other


def _nodes(tree: ast.Module) -> Iterator[tuple[ast.AST, str, int]]:
    """The expressions that run, in a fixed order, with their function and statement; no annotation, no logging."""

    def walk(node: ast.AST, where: str, statement: int) -> Iterator[tuple[ast.AST, str, int]]:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            where = node.name if where == "module" else f"{where}.{node.name}"
        if isinstance(node, ast.stmt):
            statement = node.lineno
        yield node, where, statement
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "type_params"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.JoinedStr) or not isinstance(child, ast.AST):
                    continue
                if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                    continue
                yield from walk(child, where, statement)

    yield from walk(tree, "module", 0)


def faults(root: Path, module: str) -> list[Fault]:
    """Every fault that can be put into a module."""
    source = (root / module).read_text(encoding="utf-8")
    tree, lines = ast.parse(source), source.splitlines()
    versions = {line: version for part in tree.body for line, version in _versions(part)}
    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for index, (node, where, statement) in enumerate(_nodes(tree)):
        for variant, other in enumerate(changes(node)):
            before, after = ast.unparse(node), ast.unparse(ast.fix_missing_locations(other))
            seen[where, before, after] += 1
            line = getattr(node, "lineno", 0)
            found.append(Fault(module, line, statement, where, before, after, index, variant,
                               seen[where, before, after], lines[line - 1].strip(), versions[line]))  # fmt: skip
    return found


def _versions(part: ast.stmt) -> Iterator[tuple[int, str]]:
    """For every line of a function, class or statement the digest of what it does; comments do not count."""
    digest = hashlib.sha256(ast.dump(part).encode()).hexdigest()[:12]
    for line in range(part.lineno, (part.end_lineno or part.lineno) + 1):
        yield line, digest


def mutated(root: Path, fault: Fault) -> ast.Module:
    """The module with the fault in it."""
    tree = ast.parse((root / fault.module).read_text(encoding="utf-8"))
    target = [node for node, *_ in _nodes(tree)][fault.index]
    new = list(changes(target))[fault.variant]

    class Replace(ast.NodeTransformer):
        def generic_visit(self, node: ast.AST) -> ast.AST:
            return ast.copy_location(new, node) if node is target else super().generic_visit(node)

        visit = generic_visit

    return ast.fix_missing_locations(Replace().visit(tree))
