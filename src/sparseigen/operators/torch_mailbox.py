"""Device numbers that the host reads without making the device wait."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

Tensor = Any


class Mailbox:
    """Copies of device tensors in pinned host memory, with the event that says they have arrived."""

    def __init__(self, *tensors: Tensor) -> None:
        import torch

        self.tensors = tensors
        self.on_device = bool(tensors[0].is_cuda)
        self.copies = [torch.empty(one.shape, dtype=one.dtype, pin_memory=self.on_device) for one in tensors]
        if self.on_device:
            self.arrived = torch.cuda.Event()
            self.side = torch.cuda.Stream(tensors[0].device)

    def send(self) -> None:
        """Enqueue the copies behind what the device has been given to do."""
        for copy, tensor in zip(self.copies, self.tensors, strict=True):
            copy.copy_(tensor, non_blocking=True)
        if self.on_device:
            self.arrived.record()

    def read(self) -> list[NDArray[Any]]:
        """Wait for the last copies, and for nothing that was enqueued after them."""
        if self.on_device:
            self.arrived.synchronize()
        return [np.array(copy.numpy()) for copy in self.copies]

    def beside(self) -> AbstractContextManager[Any]:
        """Work on a stream of its own that waits only for what was enqueued before the last copies."""
        if not self.on_device:
            return nullcontext()
        import torch

        self.side.wait_event(self.arrived)
        stream: AbstractContextManager[Any] = torch.cuda.stream(self.side)
        return stream
