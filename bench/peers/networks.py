"""Seconds that PyTorch takes on the CPU for what bench_nn times on our side.

    networks.py          every case with one and two threads
    networks.py -        cases as they are asked for: lines "name threads" on standard input

Prints lines "name threads seconds lowest": the median and the lowest time of a call. With "-", a
line with the version of PyTorch comes first. Hessian products come by differentiating twice, and by
forward over reverse.
"""
import statistics
import sys
import time
import warnings

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError:
    sys.exit("networks.py: this python has no torch")

SAMPLE_SECONDS, WARM_SECONDS, CASE_SECONDS = 0.0005, 0.05, 0.1
FEWEST_SAMPLES = 5


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.around = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.around = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.around(x))


def resnet18(planes, classes=10):
    layers = [nn.Conv2d(3, planes, 3, 1, 1, bias=False), nn.BatchNorm2d(planes), nn.ReLU()]
    width = planes
    for stage in range(4):
        for block in range(2):
            stride = 2 if stage and not block else 1
            layers.append(Residual(width, planes << stage, stride))
            width = planes << stage
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes)]
    return nn.Sequential(*layers)


def mlp():
    return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


def cases_of(name, net, x):
    net.eval()  # norms with given statistics
    label = torch.randint(10, (len(x),))
    params = list(net.parameters())
    v = [torch.rand_like(p) - 0.5 for p in params]

    def gradient():
        return torch.autograd.grad(F.cross_entropy(net(x), label), params)

    def twice():
        loss = F.cross_entropy(net(x), label)
        slope = torch.autograd.grad(loss, params, create_graph=True)
        return torch.autograd.grad(slope, params, v)

    named = {k: p.detach() for k, p in net.named_parameters()}
    buffers = dict(net.named_buffers())
    along = dict(zip(named, v))

    def loss_of(at):
        return F.cross_entropy(torch.func.functional_call(net, (at, buffers), (x,)), label)

    def forward():
        return torch.func.jvp(torch.func.grad(loss_of), (named,), (along,))[1]

    for one, other in zip(twice(), forward().values()):
        if not (one - other).abs().max() <= 1e-3 * one.abs().max() + 1e-5:
            sys.exit(f"networks.py: two ways to compute {name}-hv do not agree")
    return {f"{name}-gradient": gradient, f"{name}-hv/twice": twice, f"{name}-hv/forward": forward}


def seconds_of(way, calls):
    start = time.perf_counter()
    for _ in range(calls):
        way()
    return (time.perf_counter() - start) / calls


class Peer:
    def __init__(self):
        torch.manual_seed(1)
        self.cases = {
            **cases_of("mlp", mlp(), torch.rand(256, 784) - 0.5),
            **cases_of("resnet", resnet18(16), torch.rand(64, 3, 32, 32) - 0.5),
        }
        self.calls = {}

    def measure(self, name, threads):
        torch.set_num_threads(threads)
        way = self.cases[name]
        start = time.perf_counter()
        while time.perf_counter() - start < WARM_SECONDS:
            way()
        if (name, threads) not in self.calls:
            calls = 1
            while seconds_of(way, calls) * calls < SAMPLE_SECONDS:
                calls *= 2
            self.calls[name, threads] = calls
        samples, start = [], time.perf_counter()
        while len(samples) < FEWEST_SAMPLES or time.perf_counter() - start < CASE_SECONDS:
            samples.append(seconds_of(way, self.calls[name, threads]))
        print(name, threads, statistics.median(samples), min(samples), flush=True)


def main():
    warnings.simplefilter("ignore")
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
