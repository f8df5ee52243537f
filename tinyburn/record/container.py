"""The container: a safetensors file is the length of a header, the header, and the values of all tensors in a row.

The length is 8 bytes, the header JSON: for each tensor its dtype, its shape and where its values begin and end.
Reading is written out here, so that a damaged file gets a reason in words, a header can be read without the values, and
a number in a header is believed only after it has been held against the file's size. Writing is too, so that it needs
no package, which a browser would not have; the bytes are those that the package safetensors writes.
https://github.com/huggingface/safetensors describes the format.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeAlias, TypeGuard

import numpy as np

from tinyburn.base.errors import RecordError
from tinyburn.base.json_text import parsed

Values: TypeAlias = np.ndarray[Any, Any]

FORMATS = {
    **{"BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32", "I32": "int32"},
    **{"U64": "uint64", "I64": "int64", "F16": "float16", "F32": "float32", "F64": "float64", "BF16": "bfloat16"},
}
"""The format's words for dtypes, and ours. NumPy has no bfloat16: it is read as float32, which holds all its values."""

_FORMAT_OF = {ours: format for format, ours in FORMATS.items()}
_WIDER = ("BOOL", "U8", "I8", "I16", "U16", "F16", "I32", "U32", "F32", "F64", "I64", "U64")
"""The format's words from narrow to wide, in the order that it has for those of one width."""

_LONGEST_HEADER = 100_000_000
"""More is not allowed by the format."""

_PICKLES = (b"PK", b"\x80")
"""How the files of `torch.save` and of `pickle` begin."""


@dataclass(frozen=True)
class Entry:
    """One tensor of a file: its dtype in the words of the format, and where its values are after the header."""

    format: str
    shape: tuple[int, ...]
    start: int
    stop: int

    @property
    def dtype(self) -> str:
        """In our words."""
        return FORMATS[self.format]

    @property
    def bytes(self) -> int:
        """How long its values are."""
        return self.stop - self.start


@dataclass(frozen=True)
class Container:
    """A file whose header has been read and checked; its values are still on the disk.

    Attributes:
        size: bytes of the whole file.
        first: where the values begin.
        metadata: the texts that the header holds beside the tensors.
    """

    asked: str
    file: BinaryIO
    size: int
    first: int
    entries: dict[str, Entry]
    metadata: dict[str, str]

    def read(self, entry: Entry, name: str) -> Values:
        """The values of a tensor. Raises RecordError if they end too early, or are no truth values where they should.

        It allocates ``entry.bytes``, which is at most the size of the file.
        """
        raw = np.empty(entry.bytes, np.uint8)
        self.file.seek(self.first + entry.start)
        rest = raw.data
        while len(rest):
            chunk = self.file.readinto(rest)  # type: ignore[attr-defined]  # every binary file has it
            if not chunk:
                raise damaged(self.asked, f"the values of {name} end too early: the file became shorter")
            rest = rest[chunk:]
        if entry.format == "BOOL" and (raw > 1).any():
            raise damaged(self.asked, f"{name} holds bytes that are neither 0 nor 1, and should hold truth values")
        return raw

    def array(self, entry: Entry, raw: Values) -> Values:
        """The bytes of an entry as an array."""
        if entry.format == "BF16":  # the upper half of a float32
            return (raw.view("<u2").astype(np.uint32) << 16).view(np.float32).reshape(entry.shape)
        dtype = np.dtype(entry.dtype)
        return raw.view(dtype.newbyteorder("<")).astype(dtype, copy=False).reshape(entry.shape)


def damaged(asked: str, reason: str) -> RecordError:
    """The error for a file that is not as it was written."""
    return RecordError(asked, reason, hint="the file is damaged: take an earlier one, or copy it again")


def checksum(entry_dtype: str, shape: tuple[int, ...], raw: Values) -> int:
    """CRC-32 of a tensor's dtype, shape and bytes."""
    return zlib.crc32(raw.data, zlib.crc32(f"{entry_dtype} {list(shape)}".encode()))


def packed(arrays: Mapping[str, Values], metadata: Mapping[str, str]) -> bytes:
    """The bytes of a file."""
    return b"".join(_pieces(arrays, metadata))


def pack_into(path: str, arrays: Mapping[str, Values], metadata: Mapping[str, str]) -> None:
    """The same straight into a new file, without the bytes in memory. Raises OSError if the disk is full."""
    with open(path, "xb") as file:
        for piece in _pieces(arrays, metadata):
            file.write(piece)


def _pieces(arrays: Mapping[str, Values], metadata: Mapping[str, str]) -> Iterator[bytes | memoryview]:
    """The length, the header, and the values of one tensor after another: those of wide numbers first, so that each
    begins at a multiple of the bytes of its numbers."""
    formats = {name: _FORMAT_OF[array.dtype.name] for name, array in arrays.items()}
    names = sorted(arrays, key=lambda name: (-_WIDER.index(formats[name]), name))
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    end = 0
    for name in names:
        start, end = end, end + arrays[name].nbytes
        header[name] = {"dtype": formats[name], "shape": list(arrays[name].shape), "data_offsets": [start, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little")
    yield text
    for name in names:
        yield little_endian(arrays[name]).data


def little_endian(array: Values) -> Values:
    """The bytes of an array's values in row-major order, the lowest byte of each number first, as a file has them."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(-1).view(np.uint8)


def unpacked(asked: str, file: BinaryIO, size: int) -> Container:
    """Reads and checks the header of a file. Raises RecordError, which says what is wrong with it."""
    start = file.read(8)
    if size < 8 or len(start) < 8:
        reason = f"it has {size} bytes, and a safetensors file begins with 8 that say how long its header is"
        raise damaged(asked, reason)
    length = int.from_bytes(start, "little")
    if start.startswith(_PICKLES) and length > size - 8:
        reason = "it looks like a pickle, as torch.save writes it; a pickle can run any code, so it is never read"
        hint = "write it anew where it is trusted, with safetensors.torch.save_file(model.state_dict(), path)"
        raise RecordError(asked, reason, hint=hint)
    if length > min(size - 8, _LONGEST_HEADER):
        reason = (
            f"its header should have {length} bytes, and only {size - 8} follow: it is truncated, or of another kind"
        )
        raise damaged(asked, reason)
    document = _parsed(asked, file.read(length))
    metadata = document.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise damaged(asked, "the metadata in its header are no texts under names")
    entries = {name: _entry(asked, name, value) for name, value in document.items()}
    _check_places(asked, entries, size - 8 - length)
    return Container(asked, file, size, 8 + length, entries, metadata)


def _parsed(asked: str, text: bytes) -> dict[str, Any]:
    try:
        document = parsed(text.decode())
    except ValueError as error:
        raise damaged(asked, f"its header is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise damaged(asked, f"its header is {type(document).__name__}, and should be names with what is under them")
    return document


def _entry(asked: str, name: str, value: Any) -> Entry:
    """One tensor of the header, if it makes sense by itself."""
    fields = value if isinstance(value, dict) else {}
    format, shape, places = fields.get("dtype"), fields.get("shape"), fields.get("data_offsets")
    if not _are_counts(shape) or not _are_counts(places) or len(places) != 2:
        raise damaged(asked, f"the header's entry for {name!r} has no shape and place")
    if not isinstance(format, str) or format not in FORMATS:
        reason = f"{name} has the dtype {format!r}, which is not read here"
        raise RecordError(asked, reason, hint=f"write it as one of {', '.join(FORMATS)}")
    entry = Entry(format, tuple(shape), *places)
    width = 2 if format == "BF16" else np.dtype(entry.dtype).itemsize
    if math.prod(entry.shape) * width != entry.bytes:
        reason = f"{name} has the shape {list(shape)} and {entry.dtype}, and {entry.bytes} bytes: one of them is wrong"
        raise damaged(asked, reason)
    return entry


def _are_counts(value: Any) -> TypeGuard[list[int]]:
    return isinstance(value, list) and len(value) <= 32 and all(type(n) is int and 0 <= n < 2**40 for n in value)


def _check_places(asked: str, entries: Mapping[str, Entry], available: int) -> None:
    """Raises RecordError unless the values follow each other without a gap, up to the end of the file."""
    end = 0
    for name, entry in sorted(entries.items(), key=lambda item: (item[1].start, item[1].stop)):
        if entry.start != end:
            raise damaged(asked, f"the values of {name} begin at byte {entry.start}, and those before end at {end}")
        end = entry.stop
    if end != available:
        what = "truncated" if available < end else "followed by something else"
        raise damaged(asked, f"the values should take {end} bytes, and there are {available}: the file is {what}")
