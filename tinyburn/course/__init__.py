"""The notebooks' helpers: guess before you look, and check an exercise by yourself.

All of them print plain lines, the same for the same answers, so that an untouched notebook stays as it is checked in.
Each ``lesson_NN.py`` holds the exercises of one notebook: what is right, the hints, a solution, and wrong answers that
look right. The lessons are loaded when an exercise of theirs is checked.
"""

from .exercises import check, solution
from .prediction import predict

__all__ = ["check", "predict", "solution"]
