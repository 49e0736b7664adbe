"""How far numbers are from those they should be."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def relative_error(found: NDArray[np.floating[Any]], wanted: NDArray[np.floating[Any]]) -> float:
    """Root mean square of the difference over that of what is wanted."""
    difference = np.square(found - wanted, dtype=np.float64).mean()
    return float(np.sqrt(difference / np.square(wanted, dtype=np.float64).mean()))
