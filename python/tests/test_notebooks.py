"""The notebooks run from beginning to end."""

from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

NOTEBOOKS = {"clean_digits": "sklearn", "decay_per_layer": "torch", "implicit_jax": "jax"}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook(name):
    pytest.importorskip(NOTEBOOKS[name])
    path = Path(__file__).parent.parent / "notebooks" / f"{name}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=120).execute()
