"""Solutions of lesson 1."""

import torch


def rnn_step(x_t, h, W_hx, W_hh, b):
    """h_t from x_t and h_{t−1}."""
    return torch.tanh(x_t @ W_hx.T + h @ W_hh.T + b)


def rnn_jacobian(h_t, W_hh):
    """∂h_t/∂h_{t−1} as a matrix (D, D), from h_t itself."""
    return (1 - h_t**2)[:, None] * W_hh


def lstm_step(x_t, h, c, W_x, W_h, b):
    """h_t and c_t."""
    i, f, g, o = (x_t @ W_x.T + h @ W_h.T + b).chunk(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def next_token_loss(scores, tokens):
    """The mean of −log p over all tokens but the first of each row."""
    logs = scores[:, :-1].log_softmax(-1)
    return -logs.gather(-1, tokens[:, 1:, None]).mean()


def tempered(scores, temperature):
    """The probabilities (B, V) of the next token."""
    return torch.softmax(scores / temperature, -1)


def beam_search(model, first, length, width):
    """([token, …], log p): the best of what the beam kept, `length` tokens behind the token `first`."""
    beams = [(0.0, [first], model.start())]
    for _ in range(length):
        longer = []
        for log_p, tokens, state in beams:
            scores, after = model.step(torch.tensor([tokens[-1]]), state)
            logs = scores[0].log_softmax(-1)
            longer += [(log_p + log.item(), [*tokens, token], after) for token, log in enumerate(logs)]
        beams = sorted(longer, key=lambda one: -one[0])[:width]
    log_p, tokens, _ = beams[0]
    return tokens[1:], log_p
