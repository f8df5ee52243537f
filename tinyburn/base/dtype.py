"""Number formats, and the three kinds of tensor that they make."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, TypeAlias

import numpy as np

from .errors import DTypeMismatch


class Float:
    """Kind of a tensor of real numbers: the only kind that can be differentiated."""


class Int:
    """Kind of a tensor of whole numbers: labels, indices, counts."""


class Bool:
    """Kind of a tensor of truth values: masks."""


TensorKind = type[Float] | type[Int] | type[Bool]


class DType(StrEnum):
    """The format of one scalar. A member equals its own name: ``DType.FLOAT32 == "float32"``."""

    FLOAT16 = "float16"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT8 = "uint8"
    BOOL = "bool"

    @property
    def bytes(self) -> int:
        """Bytes of one scalar. A bool takes a whole byte: memory has no smaller address."""
        return 1 if self is DType.BOOL else int("".join(filter(str.isdigit, self))) // 8

    @property
    def kind(self) -> TensorKind:
        """The kind of tensor that holds such scalars."""
        if self is DType.BOOL:
            return Bool
        return Float if self.startswith("float") else Int


FloatFormat: TypeAlias = Literal["float16", "float32", "float64", DType.FLOAT16, DType.FLOAT32, DType.FLOAT64]
IntFormat: TypeAlias = Literal[
    "int8", "int16", "int32", "int64", "uint8", DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.UINT8
]
BoolFormat: TypeAlias = Literal["bool", DType.BOOL]
Format: TypeAlias = FloatFormat | IntFormat | BoolFormat | DType
"""What may stand for ``dtype=``: the name of a format. A type checker knows the kind of tensor from it."""

DTYPES = {np.dtype(member.value): member for member in DType}
"""The member for each of NumPy's dtypes that has one."""


def to_dtype(name: str) -> DType:
    """The member called ``name``. Raises DTypeMismatch, which lists the names, for any other."""
    if isinstance(name, str) and name in DType.__members__.values():
        return DType(name)
    known = ", ".join(DType)
    raise DTypeMismatch(f"dtype {name!r}", "tinyburn has no such dtype", hint=f"use one of {known}")
