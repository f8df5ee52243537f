"""pass"""
from result import Row
def run() -> list[Row]: return []
