"""What can be learned of clouds: a model, a loss, batches and metrics per task."""

from ddeq.registry import import_all
from ddeq.tasks.base import Task
from ddeq.tasks.baselines import (
    DeepSetsTask,
    DGCNNTask,
    PCNTask,
    PointNetTask,
    PointTransformerTask,
    SetTransformerTask,
)
from ddeq.tasks.classification import Classification
from ddeq.tasks.completion import Completion
from ddeq.tasks.holes import Holes
from ddeq.tasks.pcn_holes import PCNHolesTask
from ddeq.tasks.regression import Regression
from ddeq.tasks.report import Mean, Measured, Report

__all__ = [
    "Classification",
    "Completion",
    "DGCNNTask",
    "DeepSetsTask",
    "Holes",
    "Mean",
    "Measured",
    "PCNHolesTask",
    "PCNTask",
    "PointNetTask",
    "PointTransformerTask",
    "Regression",
    "Report",
    "SetTransformerTask",
    "Task",
]

import_all(__name__)  # a new one is a new file in this folder
