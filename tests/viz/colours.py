"""Colours in numbers: how much two of them contrast, and how far apart they are in each kind of colour vision."""

from __future__ import annotations

import numpy as np

Values = np.ndarray

VISIONS: dict[str, Values] = {
    "trichromat": np.eye(3),
    "protanope": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranope": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanope": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
"""What each makes of linear red, green and blue: the matrices for severity 1.0 of G. M. Machado, M. M. Oliveira and
L. A. F. Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE Transactions on
Visualization and Computer Graphics 15 (6), 2009."""

_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
"""CIE's X, Y and Z of linear red, green and blue, by IEC 61966-2-1 (sRGB), whose white is D65."""


def linear(colour: str) -> Values:
    """Red, green and blue of ``#rrggbb`` as amounts of light from 0 to 1, by WCAG 2.2."""
    channels = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    light: Values = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return light


def luminance(colour: str) -> float:
    """WCAG 2.2's relative luminance."""
    return float(np.array([0.2126, 0.7152, 0.0722]) @ linear(colour))


def contrast(one: str, other: str) -> float:
    """WCAG 2.2's contrast ratio, from 1 to 21."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def blended(colour: str, ground: str, opacity: float) -> str:
    """What is on the screen where a colour lies over another one, as browsers compute it: on the numbers of sRGB."""
    pairs = [(int(colour[at : at + 2], 16), int(ground[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + bytes(round(opacity * over + (1 - opacity) * under) for over, under in pairs).hex()


def lab(colour: str, vision: str = "trichromat") -> Values:
    """CIE 1976 L*, a*, b* of what a kind of vision makes of a colour."""
    seen = np.clip(VISIONS[vision] @ linear(colour), 0, 1)
    shares = (_XYZ @ seen) / _XYZ.sum(axis=1)
    roots = np.where(shares > (6 / 29) ** 3, np.cbrt(shares), shares / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * roots[1] - 16, 500 * (roots[0] - roots[1]), 200 * (roots[1] - roots[2])])


def distance(one: str, other: str, vision: str) -> float:
    """CIE's colour difference of 1976. 2.3 can just be noticed."""
    return float(np.linalg.norm(lab(one, vision) - lab(other, vision)))
