"""Models that classify and complete clouds."""

from ddeq.models.classifier import Classifier
from ddeq.models.completer import Completer
from ddeq.models.inputs import as_clouds

__all__ = ["Classifier", "Completer", "as_clouds"]
