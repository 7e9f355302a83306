"""Which weights a run answers with: the best look's, those of a stop that knew better, or what mends damaged ones."""

import shutil
from typing import Any

from torch import Tensor

from regard.disk import write_with
from regard.errors import UserError
from regard.folder import Folder
from regard.training.progress import Progress, better
from regard.weights import about_weights, open_weights, save_weights

Weights = dict[str, Tensor]


class AnswersFrom:
    """The weights in the folder that answer. `since` is their update; 0: there is nothing to answer with."""

    def __init__(self, folder: Folder, trained_with: dict[str, Any], metric: str) -> None:
        self.folder, self.trained_with, self.metric = folder, trained_with, metric
        self.since = int(about_weights(folder.weights).get("step", 0))

    def come_from(self, weights: Weights, step: int, value: float) -> None:
        """These are the weights of the run, until there are better ones."""
        about = {**self.trained_with, "step": step, "metric": self.metric, "value": value}
        save_weights(self.folder.weights, weights, about)
        self.since = step

    def looked(self, weights: Weights, progress: Progress, value: float) -> None:
        """Behind a look: the best so far answers."""
        if progress.best_step == progress.step:
            self.come_from(weights, progress.step, value)
            self.folder.before_stop.unlink(missing_ok=True)
        elif self.folder.before_stop.exists():  # a stop knew better than any look, but it was none
            self.folder.before_stop.replace(self.folder.weights)
            self.since = progress.best_step

    def stopped(self, weights: Weights, progress: Progress, value: float) -> None:
        """Behind the look of a stop, which is none for those that follow: the best weights before are kept."""
        folder, there = self.folder, about_weights(self.folder.weights)
        best = there["value"] if there.get("metric") == self.metric and "value" in there else progress.best
        if better(self.metric, value, best):
            if folder.weights.exists() and not folder.before_stop.exists():
                write_with(folder.before_stop, lambda partial: shutil.copyfile(folder.weights, partial))
            self.come_from(weights, progress.step, value)

    def mended(self, weights: Weights, progress: Progress) -> str:
        """Weights that were damaged: those of the checkpoint take their place, until a look finds better ones."""
        try:
            open_weights(self.folder.weights)
        except FileNotFoundError:
            return ""  # no look yet
        except UserError:
            if progress.best is not None:
                self.come_from(weights, progress.step, progress.best)
                damaged = f"{self.folder.weights} is damaged"
                return f"{damaged}: the checkpoint's, of step {self.since:,}, take its place"
        return ""
