"""Answers of a language model in the words of the interface: texts, reasons, log-probabilities."""

from collections.abc import Iterator
from typing import Any

from regard.serve.served import Served
from regard.serve.writing import Finish, Made, Wishes
from regard.special import NAMES, START


class Spelled:
    """A prompt, and how its tokens and those behind it are written."""

    def __init__(self, served: Served, named: list[int], wishes: Wishes) -> None:
        self.named, self.wishes = named, wishes
        self._tokenizer = served.run.tokenizer
        self._spelled: dict[tuple[int, int], str] = {}
        self.text = self._tokenizer.decode(named) if wishes.echo else ""

    def token(self, before: int, token: int) -> str:
        """One token as a text, behind another; half a character as its bytes."""
        if (before, token) not in self._spelled:
            piece = self._tokenizer.pieces([before, token])[-1]
            try:
                text = piece.decode() if piece or token >= len(NAMES) else NAMES[token]
            except UnicodeDecodeError:
                text = "bytes:" + "".join(f"\\x{byte:02x}" for byte in piece)
            self._spelled[before, token] = text
        return self._spelled[before, token]


class Chosen:
    """One of the answers to a prompt, as far as it has come."""

    def __init__(self, number: int, spelled: Spelled, wishes: Wishes) -> None:
        self.number, self.spelled, self.wishes = number, spelled, wishes
        self.text, self.made, self.reason, self.begun = spelled.text, 0, "", False
        self.tokens: list[Made] = []
        self._offsets, self._length = list[int](), 0

    def add(self, said: Made | Finish) -> None:
        if isinstance(said, Finish):
            self.reason, self.made = said.reason, said.tokens
            return
        if not said.prompt:
            self.text += said.text
            self.made += 1
        if said.log is not None or said.prompt:
            self.tokens.append(said)

    @property
    def mean_log(self) -> float:
        logs = [one.log for one in self.tokens if one.log is not None]
        return sum(logs) / max(1, len(logs))

    # ---- completions

    def completion(self, logs: bool) -> dict[str, Any]:
        shown = self._logprobs(self.tokens) if logs else None
        return {"index": self.number, "text": self.text, "finish_reason": self.reason or None, "logprobs": shown}

    def piece(self, said: Made | Finish) -> Iterator[dict[str, Any]]:
        """What a stream shows of it."""
        if isinstance(said, Finish):
            yield {"index": self.number, "text": "", "finish_reason": said.reason, "logprobs": None}
            return
        front = self.spelled.text if not self.begun and not said.prompt else ""
        self.begun = self.begun or not said.prompt
        asked = self.wishes.logs is not None and (said.prompt or said.log is not None)
        if asked or said.text or front:
            logs = self._logprobs([said]) if asked else None
            text = "" if said.prompt else front + said.text
            yield {"index": self.number, "text": text, "finish_reason": None, "logprobs": logs}

    def _logprobs(self, tokens: list[Made]) -> dict[str, Any]:
        names, offsets, before = [], [], START
        for one in tokens:
            names.append(self.spelled.token(before, one.id))
            offsets.append(self._length)
            self._length += 0 if names[-1].startswith("bytes:") else len(names[-1])
            before = one.id
        best: list[dict[str, float] | None] = []
        for name, one in zip(names, tokens, strict=True):
            top = {self.spelled.token(0, token): log for token, log in reversed(one.best)}
            best.append(None if one.log is None else top | ({name: one.log} if name not in top else {}))
        logs = [one.log for one in tokens]
        return {"tokens": names, "token_logprobs": logs, "top_logprobs": best, "text_offset": offsets}

    # ---- chat

    def message(self) -> dict[str, Any]:
        said = {"role": "assistant", "content": self.text, "refusal": None}
        logs = {"content": self._contents(self.tokens), "refusal": None} if self.wishes.logs is not None else None
        return {"index": self.number, "message": said, "finish_reason": self.reason or None, "logprobs": logs}

    def delta(self, said: Made | Finish) -> Iterator[dict[str, Any]]:
        """What a stream shows of it: first who speaks."""
        if not self.begun:
            self.begun = True
            yield self._delta({"role": "assistant", "content": ""})
        if isinstance(said, Finish):
            yield self._delta({}) | {"finish_reason": said.reason}
        elif said.text or said.log is not None:
            logs = None if said.log is None else {"content": self._contents([said]), "refusal": None}
            yield self._delta({"content": said.text}) | {"logprobs": logs}

    def _delta(self, delta: dict[str, str]) -> dict[str, Any]:
        return {"index": self.number, "delta": delta, "finish_reason": None, "logprobs": None}

    def _contents(self, tokens: list[Made]) -> list[dict[str, Any]]:
        return [
            self._content(one.id, one.log or 0.0) | {"top_logprobs": [self._content(*pair) for pair in one.best]}
            for one in tokens
        ]

    def _content(self, token: int, log: float) -> dict[str, Any]:
        text = self.spelled.token(0, token)
        known = None if text.startswith("bytes:") else list(text.encode(errors="replace"))
        return {"token": text, "logprob": log, "bytes": known}
