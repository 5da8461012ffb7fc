"""What networkx asks for when a function of its own is called with ``backend="sparseigen"``.

networkx finds this module through entry points and imports it with itself, so that nothing else is imported here until
a function runs. A function that is to be served is one row in SERVED.
"""

from __future__ import annotations

from typing import Any

NAME = "sparseigen"
SERVED = {
    "densest_subgraph": "graphs.densest_any:approximate_densest",
}
"""Function of networkx -> the one that answers it, called with the graph and the function's own arguments."""
INFO = {
    "backend_name": NAME,
    "project": NAME,
    "package": NAME,
    "short_summary": "Densest subgraphs by compiled peeling and fair loads.",
    "description": "Densest subgraphs by compiled peeling and fair loads; for the densest k vertices call sparseigen.",
    "functions": {
        "densest_subgraph": {
            "additional_docs": 'One round of method="greedy++" is the same peeling in compiled code; other answers are '
            "taken on to the densest subgraph itself by maximum flows, where these fit.",
        }
    },
}


def get_info() -> dict[str, Any]:
    """The facts that networkx lists about its backends."""
    return INFO


class WrappedGraph:
    """A graph of networkx on its way to a function that is served: nothing is copied."""

    __networkx_backend__ = NAME

    def __init__(self, graph: Any) -> None:
        self.graph = graph

    def is_directed(self) -> bool:
        """As the graph says."""
        return bool(self.graph.is_directed())

    def is_multigraph(self) -> bool:
        """As the graph says."""
        return bool(self.graph.is_multigraph())


class Backend:
    """The functions that are served, and how graphs come and go."""

    @staticmethod
    def convert_from_nx(graph: Any, **options: Any) -> WrappedGraph:
        """A graph as the functions here take it."""
        return graph if isinstance(graph, WrappedGraph) else WrappedGraph(graph)

    @staticmethod
    def convert_to_nx(value: Any, **options: Any) -> Any:
        """A graph as networkx has it; answers that are no graphs are what networkx itself would give."""
        return value.graph if isinstance(value, WrappedGraph) else value

    @staticmethod
    def can_run(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> bool | str:
        """Whether a call is served; otherwise a sentence that says why not."""
        if name not in SERVED:
            return f"{NAME} does not serve {name}"
        graph = Backend.convert_to_nx(arguments[0] if arguments else options.get("G"))
        if any(u == v for u, v in graph.edges()):
            return f"{NAME} serves {name} for graphs without self-loops"
        return True

    def __getattr__(self, name: str) -> Any:
        """The function that answers a call of networkx."""
        if name not in SERVED:
            message = f"{NAME} does not serve {name!r} of networkx"
            raise AttributeError(message)
        from importlib import import_module

        module, _, function = SERVED[name].partition(":")
        answer = getattr(import_module(f"sparseigen.{module}"), function)

        def call(graph: WrappedGraph, *arguments: Any, **options: Any) -> Any:
            return answer(Backend.convert_to_nx(graph), *arguments, **options)

        return call


backend = Backend()
