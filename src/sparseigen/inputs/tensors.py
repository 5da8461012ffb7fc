"""Tensors at the door: torch and cupy arrays, and host arrays that are to be moved to a device."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseigen.errors import DtypeError, OptionError
from sparseigen.inputs.optional import require

TENSOR_MODULES = ("torch", "cupy")


def is_tensor(value: Any) -> bool:
    """Whether this is a torch tensor or a cupy array, asked without importing either."""
    return type(value).__module__.split(".")[0] in TENSOR_MODULES and hasattr(value, "__dlpack__")


def as_tensor(value: Any) -> Any:
    """A strided float32 or float64 torch tensor: the caller's own memory where it already is one."""
    torch = require("torch", purpose="a torch or cupy array")
    tensor = value.detach() if isinstance(value, torch.Tensor) else torch.from_dlpack(value)
    if tensor.layout != torch.strided:
        message = f"X is a torch tensor of layout {tensor.layout}; only dense tensors are supported. Use X.to_dense()."
        raise DtypeError(message)
    if tensor.is_complex():
        message = f"X is complex ({tensor.dtype}); only real numbers are supported. Pass its real part if that is it."
        raise DtypeError(message)
    if tensor.dtype in (torch.float32, torch.float64):
        return tensor
    return tensor.to(torch.float32 if tensor.is_floating_point() else torch.float64)


def check_device(device: Any) -> Any:
    """A torch device that exists here, from "cuda", "cuda:1", "cpu" or a torch.device."""
    torch = require("torch", purpose=f"device={device!r}")
    try:
        wanted = torch.device(device)
    except (RuntimeError, TypeError) as error:
        message = f"device={device!r} is not a device torch knows; use 'cuda', 'cuda:1' or 'cpu'."
        raise OptionError(message) from error
    if wanted.type not in ("cuda", "cpu"):
        message = f"device={device!r} is not supported; use 'cuda', 'cuda:1' or 'cpu'."
        raise OptionError(message)
    if wanted.type == "cuda" and (wanted.index or 0) >= torch.cuda.device_count():
        message = (
            f"device={device!r} is not there: torch {torch.__version__} sees {torch.cuda.device_count()} CUDA devices. "
            "Install a CUDA build of torch and a driver, or leave device out."
        )
        raise OptionError(message)
    return wanted


def host_array(values: Any, rows: slice) -> Any:
    """Some rows of a host array as a fresh torch tensor (read-only and mapped arrays included)."""
    torch = require("torch", purpose="device=")
    return torch.from_numpy(np.array(values[rows], order="C", copy=True))
