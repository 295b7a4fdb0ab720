"""The run store: recording, listing, resuming, runs of the command."""

import os
import subprocess

import numpy as np
import pytest
from problems import Quadratic

import bilevel

Q = Quadratic()


def problem():
    return bilevel.Problem(Q.f, Q.g, Q.x0, Q.y0, hvp=Q.hvp, jvp=Q.jvp, name="mine")


def test_a_result_that_is_not_finite(tmp_path):
    """JSON has no NaN: the command could not read it."""

    class Lost:
        def open(self, run):
            pass

        def step(self, run):
            run.y.set(np.nan * run.y.get())

    r = bilevel.solve(problem(), solver=Lost(), iters=2, store=tmp_path / "runs.db")
    (run,) = bilevel.runs(tmp_path / "runs.db")
    assert np.isnan(r.y).all() and run.result()["y"] == [None] * 9


def test_messages_of_runs(tmp_path):
    store = tmp_path / "runs.db"
    problem = bilevel.Problem(Q.f, Q.g, Q.x0, Q.y0, name="mine")
    bilevel.solve(problem, solver="s-tfbo", iters=3, store=bytes(store))
    (run,) = bilevel.runs(store)
    with pytest.raises(TypeError, match=r"functions of your own: resume\(problem"):
        run.resume(iters=5)
    with pytest.raises(TypeError, match="problem is a int, expected a Problem"):
        run.resume(5, iters=5)
    for wrong in ({"status": 3}, {"kind": 3}, {"limit": -1}, {"limit": "a"}):
        with pytest.raises((TypeError, ValueError), match=f"{next(iter(wrong))} is "):
            bilevel.runs(store, **wrong)
    with pytest.raises(TypeError, match="checkpoint_seconds is 'a'"):
        bilevel.solve(problem, iters=3, store=store, checkpoint_seconds="a")
    run.remove()
    with pytest.raises(ValueError, match="there is no run 1"):
        run.trace()


def test_a_run_is_recorded(tmp_path):
    store = tmp_path / "runs.db"
    r = bilevel.solve(problem(), solver="s-tfbo", iters=120, store=store)
    (run,) = bilevel.runs(store)
    assert run.id == r.run_id and run.problem == "mine" and run.solver == "s-tfbo"
    assert run.status == "finished" and run.outcome == "iterations" and run.iterations == 120
    assert run.phi == r.phi
    kept = run.result()
    assert (
        kept["phi"] == r.phi and kept["x"] == r.x.tolist() and kept["counts"]["hvp"] == r.counts.hvp
    )
    np.testing.assert_array_equal(run.trace()["f"], r.trace["f"])
    assert run.settings()["options"]["iters"] == 120
    assert bilevel.runs(store, solver="soba") == []
    with pytest.raises(ValueError, match="status is 'odd'"):
        bilevel.runs(store, status="odd")
    run.remove()
    assert bilevel.runs(store) == []


def test_a_resumed_run_ends_as_one_that_was_not_interrupted(tmp_path):
    store = tmp_path / "runs.db"
    whole = bilevel.solve(problem(), solver="soba", iters=200, seed=2)
    bilevel.solve(problem(), solver="soba", iters=80, seed=2, store=store)
    (run,) = bilevel.runs(store)
    assert run.has_checkpoint and run.checkpoint()[:2] == b"PK"
    r = run.resume(problem(), iters=200)
    np.testing.assert_array_equal(r.x, whole.x)
    np.testing.assert_array_equal(r.y, whole.y)
    assert bilevel.runs(store)[0].iterations == 200 and len(bilevel.runs(store)) == 1


def test_built_in_problems_are_made_again(tmp_path):
    store = tmp_path / "runs.db"
    family = {"dx": 7, "dy": 9, "seed": 4}
    whole = bilevel.solve(bilevel.problem("quadratic", **family), solver="s-tfbo", iters=90)
    bilevel.solve(bilevel.problem("quadratic", **family), solver="s-tfbo", iters=30, store=store)
    np.testing.assert_array_equal(bilevel.runs(store)[0].resume(iters=90).x, whole.x)


def test_failures_are_recorded(tmp_path):
    store = tmp_path / "runs.db"

    def failing(x, y):
        calls.append(1)
        if len(calls) > 5:
            raise KeyError("no")
        return Q.f(x, y)

    calls = []
    with pytest.raises(KeyError):
        bilevel.solve(failing, Q.g, Q.x0, Q.y0, store=store)
    assert bilevel.runs(store)[0].status == "failed"
    with pytest.raises(ValueError, match="no checkpoint"):
        bilevel.runs(store)[0].resume()
    with pytest.raises((OSError, ValueError)):
        bilevel.runs(tmp_path / "nowhere.db")


def test_runs_of_the_command(tmp_path):
    command = os.environ.get("BILEVEL_COMMAND")
    if not command:
        pytest.skip("BILEVEL_COMMAND is not set")
    store = tmp_path / "runs.db"
    solve = [command, "solve", "quadratic", "--solver", "s-tfbo", "--store", str(store)]
    subprocess.run(
        [*solve, "--iters", "40", "--checkpoint", "100"], check=True, capture_output=True
    )
    (run,) = bilevel.runs(store)
    assert run.kind == "solve" and run.trace()["iteration"][-1] == 40
    assert run.result()["iterations"] == 40
    whole = bilevel.solve(bilevel.problem("quadratic"), solver="s-tfbo", iters=100)
    np.testing.assert_array_equal(run.resume(iters=100).x, whole.x)
    listed = subprocess.run(
        [command, "runs", "--store", str(store)], check=True, capture_output=True, text=True
    )
    assert "s-tfbo" in listed.stdout
