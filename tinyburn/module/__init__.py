"""Modules: parameters under names, the configurations that make them, and where they start."""

from .config import Config
from .initializer import Initializer
from .module import Module
from .param import Param, ParamId
from .run import RunConfig

__all__ = ["Config", "Initializer", "Module", "Param", "ParamId", "RunConfig"]
