"""The oracles of algorithms.py as one would write them first: losses from the library, and gradients
and products from its automatic differentiation. One graph serves gy, Hv and Jv at the same point."""
import contextlib

from algorithms import Oracles, Torch


class TorchAutograd(Torch):
    name = "PyTorch autograd"

    def recording(self):
        return contextlib.nullcontext()


class AutogradOracles(Oracles):
    def __init__(self, lib, case, train, val, batch):
        super().__init__(lib, case, train, val, batch)
        self.grad, self.loss = lib.t.autograd.grad, lib.t.nn.functional
        self.train_labels, self.val_labels = self.labels(train), self.labels(val)

    def labels(self, part):
        return part[1] if self.logistic else part[1].argmax(1)

    def losses(self, a, labels, y, start):
        scores = self.lib.rows(a, start, self.batch) @ y.T
        wanted = self.lib.rows(labels, start, self.batch)
        if self.logistic:
            each = self.loss.binary_cross_entropy_with_logits(scores, wanted, reduction="none")
            return each[:, 0]
        return self.loss.cross_entropy(scores, wanted, reduction="none")

    def lower(self, x, y, start):
        """g, and the leaves that it can be differentiated by: x (its rows of the batch) and y."""
        part = self.lib.rows(x, start, self.batch) if self.clean else x
        part, y = part.detach().requires_grad_(), y.detach().requires_grad_()
        losses = self.losses(self.train[0], self.train_labels, y, start)
        if self.clean:
            return (self.lib.sigmoid(part) * losses).mean() + self.C * (y * y).sum(), part, y
        return losses.mean() + 0.5 * (self.lib.exp(part) * (y * y)).sum(), part, y

    def gy(self, x, y, start):
        g, _, y = self.lower(x, y, start)
        return self.grad(g, y)[0]

    def hessian(self, x, y, start):
        g, _, y = self.lower(x, y, start)
        gy = self.grad(g, y, create_graph=True)[0]
        return lambda v: self.grad(gy, y, v, retain_graph=True)[0]

    def jv(self, x, y, v, start):
        g, part, y = self.lower(x, y, start)
        gy = self.grad(g, y, create_graph=True)[0]
        return self.grad(gy, part, v)[0]

    def all(self, x, y, v, start):
        g, part, y = self.lower(x, y, start)
        gy = self.grad(g, y, create_graph=True)[0]
        hv, jv = self.grad(gy, (y, part), v)
        return gy.detach(), hv, jv

    def fy(self, y, start):
        y = y.detach().requires_grad_()
        return self.grad(self.losses(self.val[0], self.val_labels, y, start).mean(), y)[0]
