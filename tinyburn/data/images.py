"""Pictures in folders: the name of a folder is the class of what is in it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from tinyburn.base.errors import ConfigError, DataError

from .dataset import Dataset, position
from .shipped import optional
from .stacking import Array

ENDINGS = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
MODES = {"RGB": 3, "L": 1, "RGBA": 4}
"""How a picture may be read, by Pillow's names, and how many channels it then has. ``L`` is gray."""


class ImageFolder(Dataset[tuple[Array, int]]):
    """``(picture, class)`` for each picture in the folders of a folder: ``path/cat/1.png``, ``path/dog/7.jpg``.

    A picture is uint8 from 0 to 255 of shape (channels, height, width), read when it is asked for. Folders and files
    are in the order of their names; a class is the place of its folder.

    Args:
        path: the folder of the folders.
        size: (height, width) that every picture is scaled to; its own unless given.
        mode: ``"RGB"``, ``"L"`` for gray, or ``"RGBA"``.

    Attributes:
        classes: the names of the folders.
        files: the pictures.

    Raises:
        DataError: there are no folders or no pictures. Reading raises it for a file that is no picture, by its name.
        ImportError: Pillow is not installed; it says how to install it.
    """

    def __init__(self, path: str | os.PathLike[str], size: tuple[int, int] | None = None, mode: str = "RGB") -> None:
        self.path, self.size, self.mode = Path(path), size, mode
        asked = f"ImageFolder({os.fspath(path)!r})"
        if mode not in MODES:
            raise ConfigError(asked, f"the mode is {mode!r}", hint=f"use one of {', '.join(MODES)}")
        if size is not None and (len(size) != 2 or min(size) < 1):
            raise ConfigError(asked, f"size is {size}, and must be (height, width), each 1 or more")
        optional("PIL.Image", "pillow", asked)
        folders = sorted(folder for folder in self.path.iterdir() if folder.is_dir())
        self.classes = tuple(folder.name for folder in folders)
        found = [(file, number) for number, folder in enumerate(folders) for file in _pictures(folder)]
        if not found:
            reason = f"there are {len(folders)} folders in it, with no picture in them"
            raise DataError(asked, reason, hint=f"pictures end in {', '.join(ENDINGS)}, and lie in a folder a class")
        self.files = [file for file, _ in found]
        self.targets = [number for _, number in found]

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[Array, int]:
        index = position(self, index)
        file = self.files[index]
        library = optional("PIL.Image", "pillow", "ImageFolder")
        try:
            with library.open(file) as opened:
                picture = opened.convert(self.mode)
        except (OSError, ValueError, SyntaxError, library.DecompressionBombError) as error:
            raise DataError(f"ImageFolder[{index}]", f"{str(file)!r} is no picture: {error}") from None
        if self.size is not None:
            picture = picture.resize(self.size[::-1])
        pixels = np.asarray(picture, np.uint8).reshape(picture.height, picture.width, MODES[self.mode])
        return np.ascontiguousarray(pixels.transpose(2, 0, 1)), self.targets[index]


def _pictures(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.suffix.lower() in ENDINGS and file.is_file())
