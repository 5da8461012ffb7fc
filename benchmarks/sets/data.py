"""The matrices: mtcars, PitProps, wine, genes, and correlations like those of stocks in sectors."""

from __future__ import annotations

import numpy as np

from benchmarks.certificates.instances import wine_correlation
from sparseigen.datasets import load_gene_covariance, load_pitprops

# Henderson and Velleman, "Building multiple regression models interactively", Biometrics 37 (1981); public domain.
# mpg, cyl, disp, hp, drat, wt, qsec, vs, am, gear, carb of 32 cars.
MTCARS = """
21.0 6 160.0 110 3.90 2.620 16.46 0 1 4 4
21.0 6 160.0 110 3.90 2.875 17.02 0 1 4 4
22.8 4 108.0 93 3.85 2.320 18.61 1 1 4 1
21.4 6 258.0 110 3.08 3.215 19.44 1 0 3 1
18.7 8 360.0 175 3.15 3.440 17.02 0 0 3 2
18.1 6 225.0 105 2.76 3.460 20.22 1 0 3 1
14.3 8 360.0 245 3.21 3.570 15.84 0 0 3 4
24.4 4 146.7 62 3.69 3.190 20.00 1 0 4 2
22.8 4 140.8 95 3.92 3.150 22.90 1 0 4 2
19.2 6 167.6 123 3.92 3.440 18.30 1 0 4 4
17.8 6 167.6 123 3.92 3.440 18.90 1 0 4 4
16.4 8 275.8 180 3.07 4.070 17.40 0 0 3 3
17.3 8 275.8 180 3.07 3.730 17.60 0 0 3 3
15.2 8 275.8 180 3.07 3.780 18.00 0 0 3 3
10.4 8 472.0 205 2.93 5.250 17.98 0 0 3 4
10.4 8 460.0 215 3.00 5.424 17.82 0 0 3 4
14.7 8 440.0 230 3.23 5.345 17.42 0 0 3 4
32.4 4 78.7 66 4.08 2.200 19.47 1 1 4 1
30.4 4 75.7 52 4.93 1.615 18.52 1 1 4 2
33.9 4 71.1 65 4.22 1.835 19.90 1 1 4 1
21.5 4 120.1 97 3.70 2.465 20.01 1 0 3 1
15.5 8 318.0 150 2.76 3.520 16.87 0 0 3 2
15.2 8 304.0 150 3.15 3.435 17.30 0 0 3 2
13.3 8 350.0 245 3.73 3.840 15.41 0 0 3 4
19.2 8 400.0 175 3.08 3.845 17.05 0 0 3 2
27.3 4 79.0 66 4.08 1.935 18.90 1 1 4 1
26.0 4 120.3 91 4.43 2.140 16.70 0 1 5 2
30.4 4 95.1 113 3.77 1.513 16.90 1 1 5 2
15.8 8 351.0 264 4.22 3.170 14.50 0 1 5 4
19.7 6 145.0 175 3.62 2.770 15.50 0 1 5 6
15.0 8 301.0 335 3.54 3.570 14.60 0 1 5 8
21.4 4 121.0 109 4.11 2.780 18.60 1 1 4 2
"""


def load_mtcars() -> np.ndarray:
    """Correlations of the eleven columns."""
    table = np.array([[float(cell) for cell in line.split()] for line in MTCARS.strip().splitlines()])
    return _symmetric(np.corrcoef(table, rowvar=False))


def draw_stocks(seed: int, count: int = 423, days: int = 1250, sectors: int = 11) -> np.ndarray:
    """Correlations of simulated returns: a market factor, one factor per sector, heavy-tailed noise of each stock.

    Loadings are drawn so that the market explains about a quarter of a stock's variance and its sector an eighth, as in
    daily returns of large American companies.
    """
    rng = np.random.default_rng(seed)
    market, sector = rng.standard_normal(days), rng.standard_normal((days, sectors))
    member = rng.choice(sectors, size=count, p=rng.dirichlet(np.full(sectors, 8.0)))
    noise = rng.standard_t(5, size=(days, count)) / np.sqrt(5.0 / 3.0)
    to_market, to_sector = rng.uniform(0.3, 0.7, count), rng.uniform(0.1, 0.6, count)
    returns = to_market * market[:, None] + to_sector * sector[:, member]
    returns = returns + np.sqrt(np.maximum(1.0 - to_market**2 - to_sector**2, 0.2)) * noise
    return _symmetric(np.corrcoef(returns, rowvar=False))


def load_gap_matrices() -> dict[str, tuple[np.ndarray, tuple[int, ...], tuple[int, ...]]]:
    """Per name a matrix, the numbers of components, and the cardinalities of the table of gaps."""
    return {
        "PitProps": (np.asarray(load_pitprops().matrix), (2, 3, 4, 5, 6), (4, 5, 10)),
        "wine": (wine_correlation(), (2, 3, 4, 5, 6), (4, 5, 10)),
        "colon 500": (np.asarray(load_gene_covariance("colon")), (3,), (10, 20)),
        "lymphoma 500": (np.asarray(load_gene_covariance("lymphoma")), (3,), (10, 20)),
    }


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return 0.5 * (matrix + matrix.T)
