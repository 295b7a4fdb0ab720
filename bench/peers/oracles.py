"""Seconds that PyTorch takes on the CPU for the oracles that bench_peers times on our side.

    oracles.py          every case with one and two threads
    oracles.py -        cases as they are asked for: lines "name threads" on standard input

Prints lines "name threads seconds lowest": the median and the lowest time of a call. With "-", a
line with the version of PyTorch comes first. A case has one or more ways to compute
the same thing; all must agree, and the fastest of them on this machine is the one that counts.
Data and results lie contiguous, results that need no graph go to memory set aside before, and the
ridge is added by hand: a graph for it only costs.
"""
import itertools
import statistics
import sys
import time
import warnings

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    sys.exit("oracles.py: this python has no torch")

RIDGE = 1e-3
SAMPLE_SECONDS, WARM_SECONDS, CASE_SECONDS = 0.0005, 0.05, 0.1
FEWEST_SAMPLES = 5


def autograd(loss, w):
    plain = w.detach()
    return lambda: torch.autograd.grad(loss(), w)[0].add_(plain, alpha=RIDGE)


def softmax_gradient_by_blocks(x, w, weight, target, block, gradient):
    """Two products a block of rows, with the scores classes x rows between them."""
    classes = w.shape[0]
    parts = [
        (a, a.t(), c, t.t().contiguous(), torch.empty(classes, len(a)))
        for a, c, t in zip(x.split(block), weight.split(block), target.split(block))
    ]

    @torch.inference_mode()
    def run():
        torch.mul(w, RIDGE, out=gradient)
        for a, transposed, c, t, scores in parts:
            torch.mm(w, transposed, out=scores)
            torch.softmax(scores, 0, out=scores)
            gradient.addmm_(scores.mul_(c).sub_(t), a)
        return gradient

    return run


def softmax_cases(rows, columns=784, classes=10):
    x = torch.rand(rows, columns) - 0.5
    label = torch.randint(classes, (rows,))
    weight = torch.rand(rows) / rows
    target = F.one_hot(label, classes) * weight[:, None]
    plain = 0.1 * (torch.rand(classes, columns) - 0.5)
    v = 0.1 * (torch.rand(classes, columns) - 0.5)
    w = plain.clone().requires_grad_()
    at = label[None]

    def by_rows():
        return torch.dot(F.cross_entropy(F.linear(x, w), label, reduction="none"), weight)

    def by_classes():
        scores = w @ x.t()
        return torch.dot(torch.logsumexp(scores, 0) - scores.gather(0, at)[0], weight)

    def product(gradient, keep):
        return torch.autograd.grad(gradient, w, v, retain_graph=keep)[0].add_(v, alpha=RIDGE)

    def with_graph(loss):
        return torch.autograd.grad(loss(), w, create_graph=True)[0]

    def retained(loss):
        gradient = with_graph(loss)
        return lambda: product(gradient, True)

    def scratch(loss):
        return lambda: product(with_graph(loss), False)

    gradient = torch.empty(classes, columns)
    blocks = {min(rows, block) for block in (512, 1000, 4000, rows)}
    gradients = [autograd(by_rows, w), autograd(by_classes, w)]
    kept = [retained(by_rows), retained(by_classes)]
    anew = [scratch(by_rows), scratch(by_classes)]
    return {
        f"softmax-gradient-{rows}/autograd": gradients,
        f"softmax-gradient-{rows}/autograd-usual": gradients[:1],
        f"softmax-gradient-{rows}/tuned": gradients + [
            softmax_gradient_by_blocks(x, plain, weight, target, block, gradient)
            for block in sorted(blocks)
        ],
        f"softmax-hv-again-{rows}/retained": kept,
        f"softmax-hv-again-{rows}/retained-usual": kept[:1],
        f"softmax-hv-{rows}/scratch": anew,
        f"softmax-hv-{rows}/scratch-usual": anew[:1],
    }


def batch_cases(name, rows, columns=54, batch=64):
    """Contiguous blocks of rows in a shuffled order, as views made before."""
    x = torch.rand(rows, columns, dtype=torch.float64) - 0.5
    label = torch.randint(2, (rows,)).double()
    order = torch.randperm(rows // batch).tolist()
    parts = [(a, a.t(), b, 2.0 * b - 1.0) for a, b in zip(x.split(batch), label.split(batch))]
    parts = [parts[k] for k in order]
    w = (0.1 * (torch.rand(columns, dtype=torch.float64) - 0.5)).requires_grad_()
    plain = w.detach()

    def over_blocks(way):
        blocks = itertools.cycle(parts)
        return lambda: way(*next(blocks))

    def graph(a, transposed, b, sign):
        loss = F.soft_margin_loss(torch.mv(a, w), sign)
        return torch.autograd.grad(loss, w)[0].add_(plain, alpha=RIDGE)

    def by_hand(a, transposed, b, sign):
        residual = torch.sigmoid(torch.mv(a, plain)).sub_(b)
        return torch.addmv(plain, transposed, residual, beta=RIDGE, alpha=1.0 / batch)

    return {
        f"logistic-batch-{name}/autograd": [over_blocks(graph)],
        f"logistic-batch-{name}/tuned": [over_blocks(by_hand), over_blocks(graph)],
    }


def text_rows(rows, columns, mean_entries):
    """Words drawn as in bench_peers: the chance of a word falls with its rank."""
    shift, power = 30.0, -0.2
    low, high = shift**power, (columns + shift) ** power
    lengths = torch.randint(1, 2 * mean_entries, (rows,)) * 7 // 6
    draws = torch.rand(int(lengths.sum()), dtype=torch.float64)
    ranks = ((low + (high - low) * draws) ** (1.0 / power) - shift).long().clamp(max=columns - 1)
    owners = torch.repeat_interleave(torch.arange(rows), lengths)
    entries = torch.unique(owners * columns + (ranks * 7919 + 11) % columns)
    at = torch.stack((entries // columns, entries % columns))
    values = 0.02 + 0.2 * torch.rand(len(entries))
    return torch.sparse_coo_tensor(at, values, (rows, columns)).coalesce()


def narrow_csr(x):
    """32-bit indices, as the sparse products want them."""
    x = x.to_sparse_csr()
    return torch.sparse_csr_tensor(
        x.crow_indices().int(), x.col_indices().int(), x.values(), x.shape
    )


def sparse_cases(rows=5657, columns=130107, mean_entries=157, classes=20):
    x = text_rows(rows, columns, mean_entries)
    csr, transposed = narrow_csr(x), narrow_csr(x.t().coalesce())
    label = torch.randint(classes, (rows,))
    target = F.one_hot(label, classes) / rows
    penalty = 1e-4 * (0.5 + torch.rand(columns, 1))
    w = (0.1 * (torch.rand(columns, classes) - 0.5)).requires_grad_()
    plain = w.detach()
    gradient, scores = torch.empty(columns, classes), torch.empty(rows, classes)

    def graph(data):
        def run():
            loss = F.cross_entropy(data @ w, label)
            return torch.autograd.grad(loss, w)[0].addcmul_(penalty, plain)

        return run

    @torch.inference_mode()
    def by_hand():
        torch.mm(csr, plain, out=scores)
        torch.softmax(scores, 1, out=scores)
        torch.mul(plain, penalty, out=gradient)
        return gradient.addmm_(transposed, scores.mul_(1.0 / rows).sub_(target))

    return {
        "sparse-gradient/autograd": [graph(csr), graph(x)],
        "sparse-gradient/autograd-usual": [graph(x)],
        "sparse-gradient/tuned": [graph(x), by_hand],
    }


def seconds_of(way, calls):
    start = time.perf_counter()
    for _ in range(calls):
        way()
    return (time.perf_counter() - start) / calls


def compare(name, ways):
    results = [way().clone() for way in ways]
    scale = results[0].abs().max()
    for result in results[1:]:
        if not (result - results[0]).abs().max() <= 1e-4 * scale:
            sys.exit(f"oracles.py: two ways to compute {name} do not agree")


class Peer:
    def __init__(self):
        torch.manual_seed(1)
        self.cases = {
            **softmax_cases(20000),
            **softmax_cases(1000),
            **batch_cases("cold", 371840),
            **batch_cases("hot", 512),
            **sparse_cases(),
        }
        for name, ways in self.cases.items():
            compare(name, ways)
        self.chosen = {}

    def choose(self, name):
        ways = self.cases[name]
        best = min(ways, key=lambda way: min(seconds_of(way, 1) for _ in range(5)))
        calls = 1
        while seconds_of(best, calls) * calls < SAMPLE_SECONDS:
            calls *= 2
        return best, calls

    def measure(self, name, threads):
        torch.set_num_threads(threads)
        key = name, threads
        if key not in self.chosen:
            self.chosen[key] = self.choose(name)
        way, calls = self.chosen[key]
        start = time.perf_counter()
        while time.perf_counter() - start < WARM_SECONDS:
            way()
        samples, start = [], time.perf_counter()
        while len(samples) < FEWEST_SAMPLES or time.perf_counter() - start < CASE_SECONDS:
            samples.append(seconds_of(way, calls))
        print(name, threads, statistics.median(samples), min(samples), flush=True)


def main():
    warnings.simplefilter("ignore")  # sparse tensors warn that they are new
    peer = Peer()
    if sys.argv[1:] == ["-"]:
        print("PyTorch", torch.__version__, flush=True)
        for line in sys.stdin:
            name, threads = line.split()
            peer.measure(name, int(threads))
    else:
        for name in peer.cases:
            for threads in 1, 2:
                peer.measure(name, threads)


main()
