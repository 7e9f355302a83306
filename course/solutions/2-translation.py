"""Solutions of lesson 2."""

import torch


def encode_decode(source, target, read, write):
    """s_1 … s_T of a decoder that starts from the encoder's last state; the encoder starts from zeros."""
    s = torch.zeros_like(source[:, 0])
    for x_t in source.unbind(1):
        s = read(x_t, s)
    states = []
    for y_t in target.unbind(1):
        s = write(y_t, s)
        states.append(s)
    return torch.stack(states, 1)


def with_context(h_S, target, write, W, b):
    """s_1 … s_T; `write` reads the word and the context side by side, (B, D + D)."""
    s, states = torch.tanh(h_S @ W.T + b), []
    for y_t in target.unbind(1):
        s = write(torch.cat([y_t, h_S], -1), s)
        states.append(s)
    return torch.stack(states, 1)


def f_att(s, h, W, b, U, v):
    """e: one alignment score for each position of the source."""
    return torch.tanh((s @ W.T + b)[:, None] + h @ U.T) @ v


def mix(e, h):
    """The weights a (B, S) and the context c (B, D)."""
    a = torch.softmax(e, -1)
    return a, (a[..., None] * h).sum(1)


def attend_and_write(h, s_0, target, score, write):
    """s_1 … s_T as (B, T, D) and the weights as (B, T, S). `score(s, h)` is f_att; use your `mix`."""
    s, states, weights = s_0, [], []
    for y_t in target.unbind(1):
        a, c = mix(score(s, h), h)
        s = write(torch.cat([y_t, c], -1), s)
        states.append(s)
        weights.append(a)
    return torch.stack(states, 1), torch.stack(weights, 1)


def ask(s, h, W_Q, W_K, W_V):
    """c (B, L) for the decoder state s (B, D) and encoder states h (B, S, D)."""
    scores = torch.einsum("bm,bsm->bs", s @ W_Q, h @ W_K) / W_K.shape[1] ** 0.5
    return torch.einsum("bs,bsl->bl", torch.softmax(scores, -1), h @ W_V)
