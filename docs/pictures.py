"""Make the picture of the README: `python docs/pictures.py`, then photograph the page it names with a browser."""

from pathlib import Path

import sparseigen as se

CARDINALITIES = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 26, 32, 40, 50, 60, 75, 90, 110, 130, 150]


def main() -> None:
    path = se.cardinality_path(se.datasets.load_gene_covariance("lymphoma"), CARDINALITIES)
    figure = path.plot()
    figure.update_layout(
        template="plotly_white",
        title="Lymphoma, 500 genes: what k genes explain, and a proof that no k genes explain more",
        width=860,
        height=440,
        margin={"l": 60, "r": 20, "t": 60, "b": 50},
        legend={"x": 0.62, "y": 0.25},
    )
    target = Path("build") / "path.html"
    target.parent.mkdir(exist_ok=True)
    figure.write_html(target, include_plotlyjs=True, config={"displayModeBar": False})
    print(f"chromium --headless --window-size=876,456 --screenshot=docs/images/lymphoma_path.png {target}")


if __name__ == "__main__":
    main()
