"""Laws of the package's shape: cheap to import, layered like an hourglass."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import hyperboxes

PACKAGE = Path(hyperboxes.__file__).parent
HEAVY = {"torch", "sklearn", "numba", "matplotlib", "pandas", "polars", "pyarrow", "scipy", "narwhals"}

#: Each group of modules, and the groups it may import. Imports point down only.
LAYERS: dict[str, tuple[set[str], set[str]]] = {
    "waist": ({"box_checks", "boxes", "conditions", "tables", "trees"}, {"kernels"}),
    "kernels": ({"kernels"}, set()),
    "tools": (
        {
            "atomic",
            "binning",
            "crisp",
            "explain",
            "measures",
            "model_document",
            "model_file",
            "polish",
            "rounding",
            "scaling",
            "simplify",
            "sketch",
            "summary",
        },
        {"waist", "kernels"},
    ),
    "makers": ({"nn", "prim", "fmm"}, {"waist", "kernels", "tools"}),
    "readers": (
        {"rules", "sql", "central", "plot", "page"},
        {"waist", "kernels", "tools"},
    ),
    "estimators": ({"estimators"}, {"waist", "kernels", "tools", "makers"}),
    "retrieval": ({"retrieval"}, {"waist", "kernels", "tools", "makers", "readers", "estimators"}),
    "science": ({"datasets", "bench"}, {"waist", "kernels", "tools", "makers", "readers", "estimators"}),
    "shell": (
        {"cli", "console", "demo", "sources", "__main__"},
        {"waist", "kernels", "tools", "makers", "readers", "estimators", "retrieval", "science"},
    ),
}
GROUP = {module: group for group, (modules, _) in LAYERS.items() for module in modules}
FILES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


def imports_of(file: Path) -> set[tuple[str, bool]]:
    """List imported modules by absolute name, and whether only for types."""
    tree = ast.parse((PACKAGE / file).read_text())
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = set()
    package = ("hyperboxes", *file.parent.parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {(alias.name, id(node) in for_types) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            base += node.module.split(".") if node.module else []
            # From a package, a name may be a module of its own.
            names = (
                [".".join([*base, alias.name]) for alias in node.names]
                if base == ["hyperboxes"]
                else [".".join(base)]
            )
            found |= {(name, id(node) in for_types) for name in names}
    return found


def module_of(name: str) -> str | None:
    """Give the top module inside the package, None for another package."""
    parts = name.split(".")
    if parts[0] != "hyperboxes" or len(parts) == 1:
        return None
    return hyperboxes._HOMES.get(parts[1], parts[1])


def breaches(file: Path) -> list[str]:
    """List the imports of a file that point up or sideways."""
    own = file.parts[0].removesuffix(".py")
    if own not in GROUP:
        return [f"{file}: the table of layers does not know {own!r}"]
    group = GROUP[own]
    found = []
    for name, for_types in imports_of(file):
        other = module_of(name)
        if other is None or other == own or for_types or other not in GROUP:
            continue
        if GROUP[other] != group and GROUP[other] not in LAYERS[group][1]:
            found.append(f"{file} ({group}) imports {name} ({GROUP[other]})")
    return found


@pytest.mark.parametrize("file", [file for file in FILES if file != Path("__init__.py")], ids=str)
def test_imports_point_down_only(file):
    assert not breaches(file)


@pytest.mark.parametrize("file", FILES, ids=str)
def test_only_kernels_import_numba(file):
    if file.parts[0] != "kernels":
        assert not {name for name, _ in imports_of(file) if name.split(".")[0] in ("numba", "llvmlite")}


def test_modules_of_one_layer_import_each_other_in_one_direction():
    graph = {}
    for file in FILES:
        own = file.parts[0].removesuffix(".py")
        if own in GROUP:
            others = {module_of(name) for name, for_types in imports_of(file) if not for_types} & GROUP.keys()
            graph.setdefault(own, set()).update(others - {own})
    while graph:
        free = [module for module, others in graph.items() if not (others & graph.keys())]
        assert free, f"these import one another in a circle: {graph}"
        for module in free:
            del graph[module]


def loaded_by(program: str) -> set[str]:
    """Run a program in a fresh interpreter and list the packages it loaded."""
    listing = "\nimport sys, json; print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    run = subprocess.run(
        [sys.executable, "-c", program + listing], check=True, capture_output=True, text=True
    )
    return set(json.loads(run.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    ("program", "absent"),
    [
        ("import hyperboxes", HEAVY),
        ("from hyperboxes import Boxes; Boxes([[0]], [[1]], [1], default=0).conditions(0)", HEAVY),
        (
            "from hyperboxes import Boxes; Boxes([[0]], [[1]], [1], default=0).predict([[0.5]])",
            HEAVY - {"numba", "scipy"},  # numba looks for scipy
        ),
    ],
    ids=["package", "boxes", "predict"],
)
def test_imports_are_lazy(program, absent):
    assert not loaded_by(program) & absent


def test_the_package_imports_in_less_than_three_tenths_of_a_second():
    program = (
        "import time; start = time.perf_counter(); import hyperboxes; print(time.perf_counter() - start)"
    )
    times = [
        float(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True).stdout)
        for _ in range(3)
    ]
    assert min(times) < 0.3


def test_public_names_are_listed_and_an_unknown_one_is_an_error():
    assert set(hyperboxes.__all__) <= set(dir(hyperboxes))
    assert hyperboxes.Boxes is hyperboxes.boxes.Boxes
    with pytest.raises(AttributeError, match="no attribute 'Sphere'"):
        _ = hyperboxes.Sphere
