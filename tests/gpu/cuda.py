"""Whether a CUDA device is here."""

import pytest
import torch

CUDA = torch.device("cuda:0")
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device is here")
MB = 1_000_000
