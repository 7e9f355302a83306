"""The training loop: one for every model, every kind of data, one process or many."""

import math
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regard.config import Recipe
from regard.config.decoding import Search
from regard.data.batch import Batch
from regard.disk import write_tensors
from regard.errors import UserError
from regard.evaluate.figures import figures, held_out_sums
from regard.evaluate.loss import Objective
from regard.folder import Folder
from regard.layers.state import State, leaves, like, map_state
from regard.runs import Run, load_run
from regard.tasks import reasons, spread
from regard.train.allocator import keep_freed_memory
from regard.train.checkpoint import Checkpoint, load_checkpoint, mean_of, save_checkpoint, tensors_of
from regard.train.opening import open_folder
from regard.train.optim import optimiser, rate_at
from regard.train.parallel import World, device_of, gathered, precision_of, whole, world
from regard.train.progress import Progress
from regard.train.report import Board, Report, draw_curve
from regard.weights import fill, fill_some

ANSWERS = 500  # held-out examples that are answered at a look
ARGMAX = Search(beam=1)


class Interrupted(Exception):
    """The user asked to stop; everything so far is in the checkpoint."""


def train(recipe: Recipe | None, path: Path, report: Report | None = None) -> Run:
    """Trains a run, or goes on with it where it stopped. Without a recipe the run's own is used."""
    report = report or Report()
    folder = Folder(path)
    keep_freed_memory()
    with world() as ours:
        if not ours.leads:
            report = Report(quiet=True)
        ours.first(lambda: open_folder(folder, recipe, report))
        run = load_run(folder.path)
        training = Training(run, ours, report)
        with training.stoppable():
            training.to_the_end()
        del training  # what joins the processes must go before they part, or one waits for the other for ever
        return run


class Training:
    """A run on its way. All that changes is in the model, the optimiser, the carried state and `progress`."""

    def __init__(self, run: Run, world: World, report: Report) -> None:
        self.run, self.world, self.report = run, world, report
        self.folder, self.settings = self.run.folder, self.run.recipe.train
        self.device = device_of(self.settings.device)
        self.task, self.material = self.run.task, self.run.material
        self.task.check_metric(self.settings.metric)
        torch.manual_seed(self.settings.seed)
        self.model = self.run.new_model().to(self.device)
        self.carry = not (self.task.has_source or self.model.grows)
        self.batches = self.task.batches(self.material.train, self.settings, self.carry)
        self.objective = Objective(
            self.model, self.settings.smoothing, precision_of(self.settings.precision, self.device)
        )
        self.carried: list[State] | None = None
        self.progress = Progress()
        self.stop_asked = False
        self.board = Board(self.folder.path) if self.settings.tensorboard and self.world.leads else None
        saved = load_checkpoint(self.folder.checkpoint) if self.folder.checkpoint.exists() else None
        if saved:
            fill(self.model, saved.model, self.folder.checkpoint)
        elif self.folder.first_weights.exists():
            fill_some(self.model, self.folder.first_weights)
        if self.settings.parallel == "fsdp":
            self.world.share_out(self.objective)
        self.optimiser = optimiser(self.model, self.settings)
        if saved:
            self._go_on_from(saved)

    # ---- from beginning to end

    def to_the_end(self) -> None:
        entries = [e for e in self.folder.read_log() if e["step"] <= self.progress.step]
        self._introduce()
        self.report.begin(self.settings.steps, self.progress.step)
        began, seconds_before, tokens_before = time.monotonic(), self.progress.seconds, self.progress.tokens
        try:
            while self.progress.step < self.settings.steps and not self.progress.out_of_patience(self.settings):
                loss = self.update()
                seconds = time.monotonic() - began
                self.progress = replace(self.progress, seconds=seconds_before + seconds)
                speed = (self.progress.tokens - tokens_before) / seconds
                self.report.step(self.progress.step, loss, speed)
                step, last = self.progress.step, self.progress.step == self.settings.steps
                evaluating = step % self.settings.evaluate == 0 or last
                if evaluating or step % self._entry_every == 0:
                    entries.append(self._entry(speed) | (self.evaluate() if evaluating else {}))
                    if self.board:
                        self.board.write(entries[-1])
                if evaluating or step % self.settings.checkpoint == 0 or self.stop_asked:
                    self._record(entries)
                    self.checkpoint()
                if evaluating and self.world.leads:
                    self.report.evaluated(entries[-1])
                if self.stop_asked:
                    raise Interrupted(
                        f"stopped at step {self.progress.step}; go on with: regard train {self.folder.path}"
                    )
        finally:
            self.report.end()
        self.finish()

    def update(self) -> float:
        """One step: everything random in it follows from the seed and the step."""
        step, settings = self.progress.step, self.settings
        torch.manual_seed(((settings.seed << 32) + step * 1024 + self.world.rank) % 2**63)
        batch = self.batches.at(step)
        if batch.fresh:
            self.carried = None
        for group in self.optimiser.param_groups:
            group["lr"] = rate_at(step, settings)
        self.optimiser.zero_grad()
        wanted = batch.wanted
        loss = torch.zeros(1, dtype=torch.double)
        states = []
        mine = self.world.rank * settings.accumulate
        for number in range(mine, mine + settings.accumulate):
            part = to_device(batch.rows(number, self.world.size * settings.accumulate), self.device)
            state = None if self.carried is None else self.carried[number - mine]
            outcome = self.objective(part, state, settings.student * step / settings.steps)
            (outcome.loss * self.world.size / wanted).backward()  # the mean over processes is taken below
            states.append(detached(outcome.state) if self.carry else None)
            loss += outcome.loss.item()
        self.carried = states if self.carry else None
        mean = self.world.total(loss).item() / wanted
        self.world.mean_gradients(self.model)
        length = whole(nn.utils.clip_grad_norm_(self.model.parameters(), settings.clip)).item()
        if not (math.isfinite(mean) and math.isfinite(length)):
            self._not_a_number(step)
        self.optimiser.step()
        self.progress = self.progress.updated(wanted, mean)
        return mean

    def evaluate(self) -> dict[str, Any]:
        """Held-out figures for the log, and the best weights so far on the disk."""
        settings = self.settings
        valid = self.material.valid
        every = self.task.held_out_batches(valid, settings.length)
        mine = (to_device(batch.rows(self.world.rank, self.world.size), self.device) for batch in every)
        sums = self.world.total(held_out_sums(self.objective, mine))
        held = figures(sums, self.task.tokens_in(valid), self.material.valid_bytes)
        if settings.metric not in held:
            held |= self.answered()
        step, value = self.progress.step, held[settings.metric]
        self.progress = self.progress.evaluated(value, settings)
        best = self.progress.best_step == step
        weights = {name: whole(value) for name, value in self.model.state_dict().items()}
        if self.world.leads:
            if best:
                write_tensors(self.folder.weights, weights)
            if settings.average > 1:
                write_tensors(self.folder.snapshot(step), weights)
        return {"held_out": rounded(held), "best": best}

    def answered(self) -> dict[str, float]:
        """Scores of what the model itself answers: its labels, or what it writes for some held-out examples."""
        valid, training = self.material.valid, self.model.training
        number = self.task.asks(valid)
        places = spread(number, ANSWERS if self.task.writes else number)
        with gathered(self.objective):
            self.model.eval()  # nothing is dropped meanwhile
            found = list(self.task.answers(self.model, self.run.tokenizers, valid, places, ARGMAX))
            self.model.train(training)
        scores = self.task.scores([said for said, _ in found], [wanted for _, wanted in found])
        return {name: score.value for name, score in scores.items()}

    def finish(self) -> None:
        """The weights that are handed on: the best look's, or the mean of several."""
        if self.progress.best is None:
            raise UserError(
                f"{self.folder.path} is at step {self.progress.step}, past train.steps ({self.settings.steps}), "
                f"and has not been looked at yet; set train.steps above {self.progress.step}"
            )
        if self.settings.average > 1 and self.world.leads:
            mean = mean_of([self.folder.snapshot(step) for step, _ in self.progress.snapshots])
            write_tensors(self.folder.weights, mean)
        if self.world.leads:
            draw_curve(self.folder.curve, self.folder.read_log())
            best = f"best {self.settings.metric} {self.progress.best:.4f} at step {self.progress.best_step:,}"
            self.report.say(f"{best}, {self.progress.seconds:,.0f} s; the run is in {self.folder.path}")

    # ---- keeping and going on

    def checkpoint(self) -> None:
        """Everything needed to go on, safely on the disk."""
        everywhere: State = None
        if self.carried is not None:
            parts = [leaves(part) for part in self.carried]
            together = [torch.cat(leaf) for leaf in zip(*parts, strict=True)]
            rows = self.batches.at(self.progress.step - 1).size  # more parts than rows: the rest counts for nothing
            everywhere = tuple(self.world.joined(leaf)[:rows] for leaf in together)
        tensors = tensors_of(self.model, self.optimiser, everywhere)
        if self.world.leads:
            save_checkpoint(self.folder.checkpoint, tensors, self.progress)
            self.folder.forget_snapshots(step for step, _ in self.progress.snapshots)

    def _go_on_from(self, saved: Checkpoint) -> None:
        saved.restore_optimiser(self.optimiser)
        self.progress = saved.progress
        rows = self.batches.at(self.progress.step).size
        if saved.carried and len(saved.carried[0]) == rows:  # else rows are cut otherwise now, and start afresh
            mine, parts = self.world.rank * self.settings.accumulate, self.world.size * self.settings.accumulate
            chosen = [share if len(share) else share.new_zeros(1) for share in torch.arange(rows).tensor_split(parts)]
            template = self.model.start(batch=1)
            there = [
                like(template, [leaf[share] for leaf in saved.carried])
                for share in chosen[mine : mine + self.settings.accumulate]
            ]
            self.carried = [map_state(lambda leaf: leaf.to(self.device), state) for state in there]
        self.report.say(f"going on from step {self.progress.step:,} of {self.folder.path}")

    @contextmanager
    def stoppable(self) -> Iterator[None]:
        """Ctrl-C finishes the step and checkpoints; a second one stops at once."""

        def ask(number: int, frame: object) -> None:
            if self.stop_asked:
                raise KeyboardInterrupt
            self.stop_asked = True
            self.report.say("finishing this step, then stopping (Ctrl-C again to stop at once)")

        try:
            before = signal.signal(signal.SIGINT, ask)
        except ValueError:  # not in the main thread: whoever runs us decides
            yield
            return
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @property
    def _entry_every(self) -> int:
        """The log has about ten entries of the training loss for each look."""
        return max(1, self.settings.evaluate // 10)

    def _entry(self, speed: float) -> dict[str, Any]:
        """What the log says of the steps since its last entry."""
        done, self.progress = self.progress, self.progress.logged()
        return {
            "step": done.step,
            "loss": round(done.loss / done.losses, 5),
            "rate": rate_at(done.step - 1, self.settings),
            "tokens": done.tokens,
            "tokens_per_second": round(speed),
            "seconds": round(done.seconds, 1),
        }

    def _record(self, entries: list[dict[str, Any]]) -> None:
        if self.world.leads:
            self.folder.write_log(entries)

    def _not_a_number(self, step: int) -> None:
        kept = (
            f"the last good checkpoint is in {self.folder.path}"
            if self.folder.checkpoint.exists()
            else "nothing is lost"
        )
        raise UserError(
            f"the loss is no longer a number at step {step + 1}; {kept}; try a lower train.rate "
            f"(now {self.settings.rate}), a longer train.warmup (now {self.settings.warmup}) "
            f"or a smaller train.clip (now {self.settings.clip})"
        )

    def _introduce(self) -> None:
        if left_out := self.material.facts["skipped"]:
            self.report.say(f"left out {reasons(Counter(left_out))}")
        if self.progress.step >= self.settings.steps and self.progress.best is not None:
            self.report.say(f"already at step {self.progress.step:,}; give a larger --train.steps to train on")
            return
        if self.settings.precision == "bfloat16" and self.objective.precision == torch.float32:
            self.report.say(f"{self.device} has no bfloat16 of its own: computing in float32, which is faster here")
        parameters, steps = sum(p.numel() for p in self.model.parameters()), self.settings.steps
        self.report.say(
            f"{parameters:,} parameters, {self.material.train_tokens:,} training tokens, {steps:,} updates, "
            f"{steps / self.batches.per_epoch:,.3g} epochs, on {self.device}"
        )


def to_device(batch: Batch, device: torch.device) -> Batch:
    """The batch where the model is."""
    if device.type == "cpu":
        return batch
    return Batch(*(part.to(device) if isinstance(part, torch.Tensor) else part for part in batch))  # type: ignore[arg-type]


def detached(state: State) -> State:
    """A state in full precision, with the history of its gradients cut off."""
    return map_state(lambda leaf: leaf.detach().float() if leaf.is_floating_point() else leaf.detach(), state)


def rounded(found: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 5) if isinstance(value, float) else value for name, value in found.items()}
