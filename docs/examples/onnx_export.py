"""A fitted SparsePCA as an ONNX model: needs onnx, and onnxruntime to run it.

``python docs/examples/onnx_export.py`` writes pca.onnx and compares its scores with those of transform.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import sparseigen as se


def export(pca: se.SparsePCA) -> Any:
    """Scores = X @ weights - offsets, in one Gemm."""
    weights = (pca.components_.T / pca.scale_[:, None]).astype(np.float32)
    offsets = -(pca.mean_ @ (pca.components_.T / pca.scale_[:, None])).astype(np.float32)
    features, components = weights.shape
    node = helper.make_node("Gemm", ["X", "weights", "offsets"], ["scores"])
    graph = helper.make_graph(
        [node],
        "SparsePCA",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, features])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [None, components])],
        [numpy_helper.from_array(weights, "weights"), numpy_helper.from_array(offsets, "offsets")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    return model


def main() -> int:
    import onnxruntime

    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 30)) + 2.0 * rng.standard_normal((200, 1)) * (np.arange(30) < 6)
    pca = se.SparsePCA(n_components=2, cardinality=6, scale=True).fit(X)
    onnx.save(export(pca), "pca.onnx")
    session = onnxruntime.InferenceSession("pca.onnx", providers=["CPUExecutionProvider"])
    scores = session.run(None, {"X": X.astype(np.float32)})[0]
    largest = float(np.abs(scores - pca.transform(X)).max())
    print(f"pca.onnx: {scores.shape[0]} x {scores.shape[1]} scores, at most {largest:.1e} from those of transform")
    return int(largest > 1e-4)


if __name__ == "__main__":
    sys.exit(main())
