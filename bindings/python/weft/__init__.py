"""Weft: collectives that survive the death of a rank.

``import weft.torch`` registers the PyTorch back end ``"weft"``; ``weft.elastic`` trains through
deaths and joins of ranks.
"""

__version__ = "0.1.0"
