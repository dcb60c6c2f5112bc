"""numpy, which is imported when it is first used, and the types of its arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragauge.host import LazyModule

__all__ = ["Array", "Floats", "NDArray", "np"]

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Floats = NDArray[np.float32]
else:
    np, NDArray, Array, Floats = LazyModule("numpy"), Any, Any, Any
