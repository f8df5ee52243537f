"""Lesson 16: what is in a checkpoint file, and what makes it last."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tinyburn import record
from tinyburn.autodiff import Autodiff
from tinyburn.backend import NdArray
from tinyburn.nn import LinearConfig
from tinyburn.optim import AdamConfig
from tinyburn.tensor import Tensor

from .exercises import exercise


@exercise(
    "16.1",
    hints=(
        "The file holds the model and what Adam remembers.",
        "That is three numbers for each parameter, of 4 bytes each.",
    ),
    solution="answer = 3 * 1000 * 4",
    wrong=("answer = 1000 * 4", "answer = 2 * 1000 * 4", "answer = 3 * 1000"),
)
def counts_what_adam_remembers(answer: int) -> bool:
    """The bytes in a file of 1 000 parameters after one step."""
    device = Autodiff[NdArray].device()
    layer, adam = LinearConfig(9, 100).init(device), AdamConfig().init()
    layer = adam.step(0.01, layer, layer(Tensor.ones((1, 9), device)).sum().backward())
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "training.safetensors"
        record.save(file, {"model": layer.into_record(), "optimizer": adam.state(layer)})
        return answer == sum(entry.bytes for entry in record.inspect(file).entries.values())


@exercise(
    "16.2",
    hints=("The last file is of step 1 200.", "Step 1 234 is not finished, so the last finished step is 1 233."),
    solution="answer = 1233 - 1200",
    wrong=("answer = 34", "answer = 100", "answer = 1233"),
)
def counts_the_steps_again(answer: int) -> bool:
    """The finished steps since the last file."""
    return answer == 1233 % 100


@exercise(
    "16.3",
    hints=(
        "The first 8 bytes are the length of the header; json.loads reads the header.",
        'The data_offsets of "bias" count from the first byte after the header; np.frombuffer reads bytes.',
    ),
    solution="""
import json


def answer(content):
    length = int.from_bytes(content[:8], "little")
    first, last = json.loads(content[8 : 8 + length])["bias"]["data_offsets"]
    return np.frombuffer(content[8 + length :][first:last], "<f4")
""",
    wrong=(
        """
def answer(content):
    length = int.from_bytes(content[:8], "little")
    return np.frombuffer(content[8 + length :][:8], "<f4")
""",
        """
import json


def answer(content):
    length = int.from_bytes(content[:8], "little")
    first, last = json.loads(content[8 : 8 + length])["bias"]["data_offsets"]
    return np.frombuffer(content[first:last], "<f4")
""",
    ),
)
def reads_the_bias(answer: Callable[[bytes], Any]) -> bool:
    """From the files of two layers, of which the sizes differ."""
    for sizes in ((4, 2), (3, 5)):
        layer = LinearConfig(*sizes).init(NdArray.device())
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "layer.safetensors"
            layer.save(file)
            found = answer(file.read_bytes())
        if layer.bias is None or not np.array_equal(found, layer.bias.val().to_numpy()):
            return False
    return True


@exercise(
    "16.4",
    hints=(
        "There are three cases, by the number under format: 1, 2, and anything above.",
        "For version 1 make a new dict; float turns the text into a number.",
    ),
    solution="""
def answer(header):
    if header["format"] > 2:
        raise ValueError("the file is newer than this program")
    if header["format"] == 2:
        return header
    return {"format": 2, "learning_rate": float(header["lr"]), "step": header["step"]}
""",
    wrong=(
        """
def answer(header):
    return {"format": 2, "learning_rate": float(header["lr"]), "step": header["step"]}
""",
        """
def answer(header):
    if header["format"] == 1:
        return {"format": 2, "learning_rate": float(header["lr"]), "step": header["step"]}
    return header
""",
        """
def answer(header):
    if header["format"] > 2:
        raise ValueError("the file is newer than this program")
    if header["format"] == 1:
        header["format"], header["learning_rate"] = 2, float(header.pop("lr"))
    return header
""",
    ),
)
def migrates_a_header(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> bool:
    """Version 1 becomes version 2, which stays as it is, and a newer one is an error."""
    for rate, step in ((0.01, 7), (1e-5, 0)):
        today = {"format": 2, "learning_rate": rate, "step": step}
        for header in ({"format": 1, "lr": str(rate), "step": step}, today):
            given = copy.deepcopy(header)
            if answer(given) != today or given != header:
                return False
    try:
        answer({"format": 3, "learning_rate": [0.01, 0.1], "step": 7})
    except Exception:  # of whatever kind
        return True
    return False
