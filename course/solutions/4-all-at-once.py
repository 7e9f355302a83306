"""Solutions of lesson 4."""

import torch


def causal_mask(T):
    """(T, T), True where row t may look at column i: at itself and at what stands before it."""
    return torch.ones(T, T, dtype=torch.bool).tril()


def masked_attention(Q, K, V, allowed):
    """Z (T, L) and the weights A (T, S)."""
    E = Q @ K.T / K.shape[1] ** 0.5
    A = torch.softmax(E.masked_fill(~allowed, -torch.inf), -1)
    return A @ V, A


def who_sees_whom(f, X):
    """(T, T), True where output t of f depends on input i. f maps (T, D) to (T, D′)."""
    J = torch.autograd.functional.jacobian(f, X)  # (T, D′, T, D)
    return (J != 0).any(3).any(1)


def step_with_cache(x_t, cache, W_Q, W_K, W_V):
    """z_t (L) and the new cache, a pair (K, V); `cache` is None before the first word. Never write into the old one."""
    K, V = (x_t @ W_K)[None], (x_t @ W_V)[None]
    if cache is not None:
        K, V = torch.cat([cache[0], K]), torch.cat([cache[1], V])
    weights = torch.softmax(K @ (x_t @ W_Q) / K.shape[1] ** 0.5, -1)
    return weights @ V, (K, V)


def positions_computed(T, cached):
    """How many positions are computed until T tokens have been chosen; the first input is one token."""
    return T if cached else T * (T + 1) // 2


def write_greedily(model, prompt, length):
    """The `length` tokens behind the prompt, a list; the prompt (a list) is read in one pass, each token once."""
    scores, state = model.prefill(torch.tensor([prompt]), model.start())
    said = []
    while len(said) < length:
        token = scores.argmax(-1)
        said.append(token.item())
        scores, state = model.step(token, state)
    return said
