"""Models that classify and complete clouds."""

from ddeq.models.classifier import Classifier
from ddeq.models.completer import Completer

__all__ = ["Classifier", "Completer"]
