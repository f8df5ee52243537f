"""Makes records.safetensors and records.json with PyTorch and the package safetensors: the values of a small model, and
what it gives. Run by hand; the tests only read. With a path it loads a file of tinyburn's into the same model instead.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import safetensors.torch  # type: ignore[import-not-found]  # only the benchmarks' environment has both
import torch  # type: ignore[import-not-found]

HERE = Path(__file__).parent
nn = torch.nn


class Model(nn.Module):  # type: ignore[misc]
    """A part of each kind that PyTorch lays out in another way, and some that it does not."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.norm = nn.BatchNorm2d(2)
        self.linear = nn.Linear(8, 8)
        options = {"dropout": 0.0, "activation": "gelu", "batch_first": True}
        self.encoder = nn.TransformerEncoderLayer(4, 2, 8, **options)
        self.decoder = nn.TransformerDecoderLayer(4, 2, 8, **options)
        self.lstm = nn.LSTM(4, 3, num_layers=2, bidirectional=True, batch_first=True)
        self.layer_norm = nn.LayerNorm(6)
        self.table = nn.Embedding(5, 6)

    def forward(self, image: Any, tokens: Any) -> Any:
        """(2, 1, 4, 4) and (2, 2) to (2, 2, 6)."""
        hidden = self.linear(self.norm(self.conv(image)).reshape(2, 8)).reshape(2, 2, 4)
        outputs, _ = self.lstm(self.decoder(self.encoder(hidden), hidden))
        return self.layer_norm(outputs) + self.table(tokens)


def output(model: Any) -> list[float]:
    image = torch.sin(torch.arange(32, dtype=torch.float32)).reshape(2, 1, 4, 4)
    with torch.no_grad():
        result: list[float] = model.eval()(image, torch.tensor([[0, 3], [4, 1]])).flatten().tolist()
    return result


def main() -> None:
    torch.manual_seed(0)
    model = Model()
    if len(sys.argv) > 1:
        read = safetensors.torch.load_file(sys.argv[1])
        missing, unused = model.load_state_dict(read, strict=False)
        assert not unused, unused
        assert all(name.endswith("num_batches_tracked") for name in missing), missing
        print(json.dumps(output(model)))
        return
    for _ in range(3):  # so that the running statistics are not those of the start
        model.train()(torch.randn(2, 1, 4, 4), torch.zeros(2, 2, dtype=torch.int64))
    safetensors.torch.save_file(model.state_dict(), HERE / "records.safetensors")
    text = json.dumps({"output": output(model)})
    (HERE / "records.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
