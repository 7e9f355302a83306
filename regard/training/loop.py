"""The training loop: one for every model, every kind of data, one process or many."""

import gc
import math
from collections import Counter
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.config import Recipe, recipe_from, to_table
from regard.config.decoding import Search
from regard.config.settings import changes
from regard.disk import text_sum
from regard.errors import UserError, counted, few_digits
from regard.evaluate.figures import figures, held_out_sums
from regard.folder import Folder, log_text
from regard.layers.low_rank import merged
from regard.layers.state import State, leaves, like, map_state
from regard.runs import Run, load_run
from regard.tasks import reasons, spread, spread_share
from regard.training import ending, learning
from regard.training.allocator import hand_back_memory, keep_freed_memory
from regard.training.answers import AnswersFrom
from regard.training.average import Average
from regard.training.checkpoint import Checkpoint, mean_of, save_checkpoint, tensors_of, to_go_on_from
from regard.training.distil import taught
from regard.training.lock import locked
from regard.training.objective import objective
from regard.training.opening import open_folder
from regard.training.optim import optimiser
from regard.training.pace import Pace, in_words
from regard.training.parallel import World, device_of, gathered, precision_of, whole, world
from regard.training.progress import Progress
from regard.training.report import Board, Moment, Report, no_longer_a_number
from regard.training.schedule import NO_END, decided, expected_end, left, rate_at, updates
from regard.training.stopping import BY_HAND, Interrupted, Stop
from regard.weights import fill, fill_some, save_weights

ANSWERS = 500  # held-out examples that are answered at a look
ARGMAX = Search(beam=1)
SOME = 20  # updates after which it is said how long all of them will take


def train(recipe: Recipe | None, path: Path, report: Report | None = None) -> Run:
    """Trains a run, or goes on with it where it stopped. Without a recipe the run's own is used."""
    report = report or Report()
    folder = Folder(path)
    with world() as ours, locked(folder.path) if ours.leads else nullcontext():
        if not ours.leads:
            report = Report(quiet=True)
        ours.first(lambda: open_folder(folder, recipe, report))
        run = load_run(folder.path)
        training = Training(run, ours, report)
        with training.stop.heard(training.say_that_it_stops):
            training.to_the_end()
        del training  # what joins the processes must go before they part, or one waits for the other for ever
        if ours.size > 1:
            gc.collect()  # also what refers to itself, as modules that are shared out do
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
        self.batches = taught(self.task.batches(self.material.train, self.settings, self.carry), self.folder)
        self.settings = replace(self.settings, steps=updates(self.settings, self.batches.per_epoch))
        share = self.settings.batch // self.settings.accumulate // self.world.size
        keep_freed_memory(4 * share * self.run.tokenizers[1].vocabulary)
        self.objective = objective(self.model, self.settings, precision_of(self.settings.mixed_precision, self.device))
        self.carried: list[State] | None = None
        self.progress = Progress()
        self.stop, self.pace, self.clock = Stop(), Pace(), report.clock
        self.trained_with = self.folder.trained_with(self.run.recipe)
        self.answers = AnswersFrom(self.folder, self.trained_with, self.settings.metric)
        self.entries: list[dict[str, Any]] = []
        self.tokens_read = 0  # since this process began: what speed is counted in
        self.board = Board(self.folder.path) if self.settings.tensorboard and self.world.leads else None
        saved = to_go_on_from(self.folder, self.run.recipe)
        if self.folder.first_weights.exists():
            fill_some(self.model, self.folder.first_weights)
        learning.choose(self.model, self.settings)
        if saved:
            fill(self.model, learning.frozen(self.model) | saved.model, self.folder.checkpoint)
        if self.settings.parallel == "fsdp":
            self.world.share_out(self.objective)
        self.optimiser = optimiser(self.model, self.settings)
        self.average = Average(self.model, self.settings.ema)
        if saved:
            self._go_on_from(saved)
            weights = self._weights()
            if self.world.leads and (said := self.answers.mended(weights, self.progress)):
                self.report.say(said)

    # ---- from beginning to end

    def to_the_end(self) -> None:
        self._introduce()
        self.report.begin(expected_end(self.progress, self.pace, self.settings), self.progress.step)
        first, began = self.progress.step, self.clock() - self.progress.seconds
        try:
            while self.progress.step < self.end and not self.progress.out_of_patience(self.settings):
                self._decide()
                self.timed_update()
                self.progress = replace(self.progress, seconds=self.clock() - began)
                before, step = self.clock(), self.progress.step
                evaluating = step % self.settings.evaluate == 0 or step == self.end
                if evaluating or step % self._entry_every == 0:
                    self.entries.append(self._entry() | (self.evaluate() if evaluating else {}))
                    if self.board:
                        self.board.write(self.entries[-1])
                asked = self.world.largest(self.stop.asked)
                if evaluating or step % self.settings.checkpoint == 0 or asked:
                    self._record()
                    self.checkpoint()
                if evaluating:
                    self.pace = self.pace.looked(self.clock() - before)
                    self.report.evaluated(self.entries[-1])
                if asked:
                    raise self._stopped(asked, looked=evaluating)
                self._say_how_long(step - first, looked=evaluating)
        finally:
            self.report.end()
        self.finish()

    def timed_update(self) -> None:
        """One step, and how long it took; what a person sees of it."""
        before, read = self.clock(), self.tokens_read
        loss = self.update()
        self.pace = self.pace.updated(self.tokens_read - read, self.clock() - before)
        seconds = left(self.progress, self.pace, self.settings)
        self.report.step(
            Moment(
                self.progress.step,
                expected_end(self.progress, self.pace, self.settings),
                loss,
                self.pace.speed,
                seconds,
                self.answers.since,
            )
        )

    def update(self) -> float:
        """One step: everything random in it follows from the seed and the step."""
        step, settings = self.progress.step, self.settings
        torch.manual_seed(((settings.seed << 32) + step * 1024 + self.world.rank) % 2**63)
        batch = self.batches.at(step)
        if batch.fresh:
            self.carried = None
        for group in self.optimiser.param_groups:
            group["lr"] = rate_at(step, settings, self.progress)
        self.optimiser.zero_grad()
        wanted = batch.wanted
        loss = torch.zeros(1, dtype=torch.double)
        states = []
        mine = self.world.rank * settings.accumulate
        for number in range(mine, mine + settings.accumulate):
            part = batch.rows(number, self.world.size * settings.accumulate).to(self.device)
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
            raise no_longer_a_number(self.folder, settings, step + 1)
        self.optimiser.step()
        self.average.update(step + 1)
        self.progress = self.progress.updated(wanted, mean)
        self.tokens_read += batch.read
        return mean

    def evaluate(self) -> dict[str, Any]:
        """Held-out figures for the log, and the best weights so far on the disk."""
        (held, weights, learnt), settings = self._looked(), self.settings
        step, value = self.progress.step, held[settings.metric]
        self.progress = self.progress.evaluated(value, settings)
        if self.world.leads:
            self.answers.looked(weights, self.progress, value)
            if settings.average > 1:
                save_weights(self.folder.snapshot(step), weights)
        return {"held_out": rounded(held), "learnt": round(learnt, 5), "best": self.progress.best_step == step}

    def last_look(self) -> None:
        """A look before stopping: the run answers with these weights from now on, if they are the best so far.

        All else stays as if there had been none, also the best weights before: training goes on exactly.
        """
        held, weights, _ = self._looked()
        if self.world.leads:
            self.answers.stopped(weights, self.progress, held[self.settings.metric])

    def _looked(self) -> tuple[dict[str, float], dict[str, Tensor], float]:
        """Figures of the held-out part, the weights that have them, those of now or their mean, and the loss that they
        have on what they learnt from."""
        with self.average.in_place():
            held, weights = self.look(), self._weights()
            hand_back_memory()  # the holes that a look leaves are of no size that a training batch's scores would have
            learnt = ending.learnt(self.objective, self.batches, self.world, self.device)
            return held, {name: one.clone() for name, one in weights.items()} if self.settings.ema else weights, learnt

    def look(self) -> dict[str, float]:
        """Figures of the held-out part, or of a share of it."""
        settings, valid = self.settings, self.material.valid
        every = self.task.held_out_batches(valid, settings.length, self.material.share(settings.look_tokens))
        mine = (batch.rows(self.world.rank, self.world.size).to(self.device) for batch in every)
        sums = self.world.total(held_out_sums(self.objective, mine))
        held = figures(sums, self.task.tokens_in(valid), self.material.valid_bytes)
        return held if settings.metric in held else held | self.answered()

    def _weights(self) -> dict[str, Tensor]:
        return merged(self.model, {name: whole(value) for name, value in self.model.state_dict().items()})

    def answered(self) -> dict[str, float]:
        """Scores of what the model itself answers: its labels, or what it writes for some held-out examples."""
        valid, training = self.material.valid, self.model.training
        number = self.task.asks(valid)
        share = spread_share(number, self.material.share(self.settings.look_tokens))
        places = spread(number, ANSWERS) if self.task.writes else share
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
                f"{self.folder.path} is at step {self.progress.step}, past train.steps ({self.end}), "
                f"and has not been looked at yet; set train.steps above {self.progress.step}"
            )
        if self.settings.average > 1 and self.world.leads:
            steps = [step for step, _ in self.progress.snapshots]
            mean = mean_of([self.folder.snapshot(step) for step in steps])
            save_weights(self.folder.weights, mean, {**self.trained_with, "step": max(steps), "mean_of": steps})
        if self.world.leads:
            for line in ending.told(self.run):
                self.report.say(line)
            best = f"best {self.settings.metric} {self.progress.best:.4f} at step {self.progress.best_step:,}"
            self.report.say(f"{best}, {self.progress.seconds:,.0f} s; the run is in {self.folder.path}")

    # ---- keeping and going on

    @property
    def end(self) -> int:
        """The last update, as far as it is known."""
        return self.progress.end or self.settings.steps

    def _decide(self) -> None:
        """Fixes the last update where it is time to; from before the rate falls a longer training can go on."""
        now = decided(self.progress, self.pace, self.settings)
        fall, end = now.fall, now.end
        if self.settings.minutes:  # one clock for all processes
            fall, end = self.world.largest(fall), self.world.largest(end)
        if end != self.progress.end:
            if self.settings.falls == "cooldown" and self.progress.step:
                self._record()
                self.checkpoint(self.folder.before_fall)
            self.progress = replace(self.progress, fall=fall, end=end)
            self.checkpoint()

    def checkpoint(self, path: Path | None = None) -> None:
        """Everything needed to go on, safely on the disk."""
        everywhere: State = None
        if self.carried is not None:
            parts = [leaves(part) for part in self.carried]
            together = [torch.cat(leaf) for leaf in zip(*parts, strict=True)]
            rows = self.batches.at(self.progress.step - 1).size  # more parts than rows: the rest counts for nothing
            everywhere = tuple(self.world.joined(leaf)[:rows] for leaf in together)
        tensors = tensors_of(self.model, self.optimiser, self.average, everywhere)
        if self.world.leads:
            log = text_sum(log_text(self.entries))
            about = {**self.trained_with, "config": to_table(self.run.recipe), "log": log}
            save_checkpoint(path or self.folder.checkpoint, tensors, self.progress, about)
            self.folder.forget_snapshots(step for step, _ in self.progress.snapshots)

    def _go_on_from(self, saved: Checkpoint) -> None:
        saved.restore_optimiser(self.optimiser)
        self.progress = saved.progress
        self.average.go_on_from(saved.average)
        self.answers.since = self.answers.since or self.progress.best_step
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
        self.entries = [entry for entry in self.folder.read_log() if entry["step"] <= self.progress.step]
        if saved.about.get("log", log := text_sum(log_text(self.entries))) != log:
            self.report.say(f"{self.folder.log} is not as it was written; going on with what can be read of it")
        if "config" in saved.about:
            for name, was, found in changes(to_table(recipe_from(saved.about["config"])), to_table(self.run.recipe)):
                self.report.say(f"{name} is {found} now, it was {was}")

    def say_that_it_stops(self, asked: int) -> None:
        if asked != BY_HAND:
            self.report.say("asked to end: finishing this step, then a checkpoint")
            return
        long = f" of about {in_words(self.pace.looks[-1])}" if self.pace.looks else ""
        self.report.say(f"finishing this step, then a last look{long} (Ctrl-C again to stop at once)")

    def _stopped(self, asked: int, looked: bool) -> Interrupted:
        """Behind the checkpoint: a last look if somebody waits for it, and what the run has come to."""
        if asked == BY_HAND and not looked:
            with suppress(KeyboardInterrupt):  # asked again: nothing is lost but the look
                self.last_look()
        known = self.answers.since
        answers = f"answers come from step {known:,}" if known else "there is nothing to answer with yet"
        done = f"stopped at step {self.progress.step:,}"
        return Interrupted(f"{done}; {answers}; go on with: regard train {self.folder.path}", asked)

    def _say_how_long(self, done: int, looked: bool) -> None:
        """After some updates, and once more when it is known how long a look takes."""
        seconds = left(self.progress, self.pace, self.settings)
        if seconds and (done == SOME or (looked and len(self.pace.looks) == 1 and done > SOME)):
            number = expected_end(self.progress, self.pace, self.settings) - self.progress.step + done
            looks = "looks included" if self.pace.looks else "looks not counted yet"
            took = sum(seconds for _, seconds in self.pace.updates) / len(self.pace.updates) * done
            whole = took + sum(self.pace.looks) + seconds
            self.report.say(f"about {in_words(whole)} for {counted(number, 'update')}, {looks}")

    @property
    def _entry_every(self) -> int:
        """The log has about ten entries of the training loss for each look."""
        return max(1, self.settings.evaluate // 10)

    def _entry(self) -> dict[str, Any]:
        """What the log says of the steps since its last entry."""
        done, self.progress = self.progress, self.progress.logged()
        return {
            "step": done.step,
            "loss": round(done.loss / done.losses, 5),
            "rate": rate_at(done.step - 1, self.settings, done),
            "tokens": done.tokens,
            "tokens_per_second": round(self.pace.speed),
            "seconds": round(done.seconds, 1),
        }

    def _record(self) -> None:
        if self.world.leads:
            self.folder.write_log(self.entries)

    def _introduce(self) -> None:
        if left_out := self.material.facts["skipped"]:
            self.report.say(f"left out {reasons(Counter(left_out))}")
        if self.progress.step >= self.end and self.progress.best is not None:
            larger = "--train.minutes" if self.settings.steps == NO_END else "--train.steps"
            self.report.say(f"already at step {self.progress.step:,}; give a larger {larger} to train on")
            return
        if self.settings.mixed_precision == "bfloat16" and self.objective.precision == torch.float32:
            self.report.say(f"{self.device} has no bfloat16 of its own: computing in float32, which is faster here")
        parameters, steps, minutes = (p.numel() for p in self.model.parameters()), self.end, self.settings.minutes
        epochs = few_digits(steps / self.batches.per_epoch)
        updates = f"{counted(steps, 'update')}, {counted(epochs, 'epoch')}, " if steps < NO_END else ""
        clock = f"{counted(few_digits(minutes), 'minute')}, " if minutes else ""
        self.report.say(
            f"{counted(sum(parameters), 'parameter')}, {counted(self.material.train_tokens, 'training token')}, "
            f"{updates}{clock}on {self.device}"
        )
        if (share := self.material.share(self.settings.look_tokens)) < 1:
            every = self.material.valid_tokens
            self.report.say(f"a look reads {share * every:,.0f} of {every:,} held-out tokens, spread evenly")


def detached(state: State) -> State:
    """A state in full precision, with the history of its gradients cut off."""
    return map_state(lambda leaf: leaf.detach().float() if leaf.is_floating_point() else leaf.detach(), state)


def rounded(found: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 5) if isinstance(value, float) else value for name, value in found.items()}
