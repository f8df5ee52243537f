"""Makes the files that notebook 17 reads: digits_0_to_4.onnx is a small convolutional network that PyTorch has trained
and exported, and digits_0_to_4.golden.safetensors is what PyTorch gives for 16 images.

It has seen only the digits from 0 to 4, and only images before `FIRST_UNSEEN`: the notebook trains it further with the
others. The normalization comes after relu, since the exporter would fold it into a convolution right before it, and the
notebook changes its epsilon.

Run by hand, in the environment of the benchmarks: ``python benchmarks/onnx_cnn.py``. It takes a few seconds.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch  # type: ignore[import-not-found]
from safetensors.numpy import save
from sklearn.datasets import load_digits

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
MODEL, GOLDEN = NOTEBOOKS / "digits_0_to_4.onnx", NOTEBOOKS / "digits_0_to_4.golden.safetensors"

FIRST_UNSEEN = 1000
EPOCHS, BATCH = 6, 50


class Cnn(torch.nn.Module):
    """8 x 8 pixels, a stride of 2 and padding on all sides, then 2 x 2, then ten scores."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(1, 8, 3, stride=2, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.second = torch.nn.Conv2d(8, 16, 3)
        self.output = torch.nn.Linear(16 * 2 * 2, 10)

    def forward(self, image: Any) -> Any:
        """The scores, of shape (batch, 10)."""
        x = self.norm(torch.relu(self.first(image)))
        return self.output(torch.relu(self.second(x)).flatten(1))


def train(model: Cnn, images: Any, labels: Any) -> None:
    """The digits from 0 to 4, in another order each epoch."""
    seen = (labels[:FIRST_UNSEEN] < 5).nonzero()[:, 0]
    adam = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(EPOCHS):
        for batch in seen[torch.randperm(len(seen))].split(BATCH):
            loss = torch.nn.functional.cross_entropy(model(images[batch]), labels[batch])
            adam.zero_grad()
            loss.backward()
            adam.step()


def export(model: Cnn, example: Any) -> bytes:
    """The file, with a free batch."""
    program = torch.onnx.export(
        model,
        (example,),
        dynamo=True,
        input_names=["image"],
        output_names=["scores"],
        dynamic_shapes=({0: torch.export.Dim("batch")},),
    )
    proto = program.model_proto
    name_nodes(proto.graph)
    onnx.checker.check_model(proto, full_check=True)
    data: bytes = proto.SerializeToString(deterministic=True)
    return data


def name_nodes(graph: Any) -> None:
    """Short names for the nodes: the module and the operator. The exporter's own are long, and what else it notes about
    a node names programs and folders of the machine, so it is taken out."""
    taken: Counter[str] = Counter()
    for node in graph.node:
        scopes = next(one.value for one in node.metadata_props if one.key == "pkg.torch.onnx.name_scopes")
        *_, module, _ = ast.literal_eval(scopes)
        name = ".".join(filter(None, (module, node.op_type)))
        node.name = f"{name}_{taken[name]}" if taken[name] else name
        taken[name] += 1
    for noted in (graph, *graph.node, *graph.input, *graph.output, *graph.value_info, *graph.initializer):
        del noted.metadata_props[:]
    for node in graph.node:  # PyTorch's normalization gives several results, of which this is the first
        for names in (node.input, node.output):
            names[:] = ["norm" if name == "getitem" else name for name in names]
    for value in graph.value_info:
        value.name = "norm" if value.name == "getitem" else value.name


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)  # with several, sums come in another order each time
    digits = load_digits()
    images = torch.tensor(digits.images[:, None] / 16, dtype=torch.float32)
    labels = torch.tensor(digits.target)
    model = Cnn()
    train(model, images, labels)
    model.eval()
    golden = images[FIRST_UNSEEN : FIRST_UNSEEN + 16]
    with torch.no_grad():
        scores = model(golden)
    MODEL.write_bytes(export(model, golden[:2]))
    tensors = {"image": golden.numpy(), "scores": np.ascontiguousarray(scores.numpy())}
    GOLDEN.write_bytes(save(tensors, {"torch": torch.__version__}))
    for name, mine in (("0 to 4", labels < 5), ("5 to 9", labels >= 5)):
        unseen = mine & (torch.arange(len(labels)) >= FIRST_UNSEEN)
        right = (model(images[unseen]).argmax(1) == labels[unseen]).sum()
        print(f"unseen images with {name}: {right} of {unseen.sum()} right")
