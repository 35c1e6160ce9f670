"""Installs the Python package `weft`; CMake builds its extension module.

    python3 -m pip install . --no-build-isolation --no-index

WEFT_BUILD names a build tree to use instead of build/python, such as build/release.
"""

import glob
import os
import pathlib
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent


class BuildByCMake(build_ext):
    def run(self):
        tree = os.environ.get("WEFT_BUILD", str(ROOT / "build" / "python"))
        if not os.path.exists(os.path.join(tree, "build.ninja")):
            subprocess.check_call([
                "cmake", "-S", str(ROOT), "-B", tree, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                "-DWEFT_TESTS=OFF", f"-DWEFT_PYTHON={sys.executable}"])
        subprocess.check_call(["cmake", "--build", tree, "--target", "weft_torch_module"])
        built = glob.glob(os.path.join(tree, "python", "weft", "_torch*.so"))
        if len(built) != 1:
            sys.exit(f"{tree}/python/weft holds {len(built)} modules; there should be one")
        package = os.path.join(self.build_lib, "weft")
        os.makedirs(package, exist_ok=True)
        shutil.copy2(built[0], package)

    def get_outputs(self):
        return glob.glob(os.path.join(self.build_lib, "weft", "_torch*.so"))


setup(
    name="weft",
    version="0.1.0",
    description="Collectives for PyTorch that survive the death of a rank",
    license="Apache-2.0",
    python_requires=">=3.9",
    packages=["weft"],
    package_dir={"weft": "bindings/python/weft"},
    package_data={"weft": ["py.typed"]},
    ext_modules=[Extension("weft._torch", [])],
    cmdclass={"build_ext": BuildByCMake},
)
