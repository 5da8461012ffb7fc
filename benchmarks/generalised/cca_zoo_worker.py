"""Run by the Python that has cca-zoo: sparse methods on two blocks, a grid of penalties, one line of JSON per method.

``python cca_zoo_worker.py BLOCKS.npz K_X K_Y``. Of each fit the largest weights of each block count, at most K_X and
K_Y; what they are worth is decided by the caller, with the best weights on these variables. Knows nothing of us.
"""

import json
import sys
import time
import warnings

import numpy as np

PENALTIES = np.geomspace(1.0, 1e-3, 10)  # from the sparsest on: these fits are the fast ones
SECONDS = 10.0  # of one method; the penalties that remain are left out


def list_methods(sparse, k_x, k_y):
    """Name -> the settings to be tried."""
    return {
        "SpanCCA": [(sparse.SpanCCA, {"span": [k_x, k_y]})],
        "OrthogonalMatchingPursuitCCA": [(sparse.OrthogonalMatchingPursuitCCA, {"n_nonzero_coefs": [k_x, k_y]})],
        "PMDCCA": [(sparse.PMDCCA, {"l1_bound": float(value)}) for value in PENALTIES],
        "ParkhomenkoCCA": [(sparse.ParkhomenkoCCA, {"alpha": float(value)}) for value in PENALTIES],
        "IPLSCCA": [(sparse.IPLSCCA, {"alpha": float(value)}) for value in PENALTIES],
        "ADMMCCA": [(sparse.ADMMCCA, {"alpha": float(value)}) for value in PENALTIES],
        "ElasticNetCCA": [(sparse.ElasticNetCCA, {"alpha": float(value), "l1_ratio": 0.95}) for value in PENALTIES],
    }


def main(path, k_x, k_y):
    warnings.simplefilter("ignore")
    from cca_zoo import sparse

    blocks = np.load(path)
    views = [blocks["X"], blocks["Y"]]
    for name, settings in list_methods(sparse, k_x, k_y).items():
        found, failed, spent = [], "", 0.0
        for kind, options in settings:
            if spent > SECONDS:
                break
            try:
                began = time.process_time()
                model = kind(1, random_state=0, **options).fit(views)
                seconds = time.process_time() - began
                spent += seconds
                weights = [np.asarray(block).reshape(len(block), -1)[:, 0] for block in model.weights_]
            except Exception as error:  # a row that says how
                failed = f"{type(error).__name__}: {error}"[:100]
                continue
            support = [
                sorted(int(i) for i in np.argsort(-np.abs(own))[:k] if own[i] != 0.0)
                for own, k in zip(weights, (k_x, k_y), strict=True)
            ]
            found.append({"support": support, "seconds": seconds})
        print(json.dumps({"method": name, "fits": found, "failed": failed}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
