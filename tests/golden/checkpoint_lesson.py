"""Makes the files that notebook 16 reads: from_torch.safetensors has the values of a model of PyTorch's, and
from_torch.json what it gives for a fixed batch. Run by hand, in the environment of the benchmarks.
"""

from __future__ import annotations

import json
from pathlib import Path

import safetensors.torch  # type: ignore[import-not-found]  # only the benchmarks' environment has both
import torch  # type: ignore[import-not-found]

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"

if __name__ == "__main__":
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    batch = [[1.0, 2.0, 3.0, 4.0], [0.0, -1.0, 0.5, 2.0]]
    with torch.no_grad():
        output = model(torch.tensor(batch)).tolist()
    values = {
        name.replace("0.", "hidden.").replace("2.", "output."): value for name, value in model.state_dict().items()
    }
    safetensors.torch.save_file(values, NOTEBOOKS / "from_torch.safetensors")
    golden = {"torch": torch.__version__, "batch": batch, "output": output}
    (NOTEBOOKS / "from_torch.json").write_text(json.dumps(golden, indent=1) + "\n")
