"""Meshes from files as a user meets them: what `check` and `run` say, and OpenFOAM's own meshes."""
import gzip
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import ProgramTest, environment  # noqa: E402

CAVITY = pathlib.Path(__file__).parent / "cavity"
EXAMPLES = pathlib.Path("/usr/share/doc/openfoam-examples/examples/incompressible")

CONFIG = """campaign: mesh
defaults:
  layout: {{nodes: all, oversubscribe: yes}}
  repeat: {{min: 2, max: 2, budget: 20s}}
steps:
  - benchmark: flow
    parameters: {{case: mesh, mesh: "{mesh}", steps: 1, dt: {dt}, {more}boundary: "{boundary}"}}
"""


class Messages(ProgramTest):
    def config(self, mesh, boundary="yMax: velocity 1 0 0", more="", dt="1e-3"):
        return self.write("c.yaml", CONFIG.format(mesh=mesh, boundary=boundary, more=more, dt=dt))

    def test_a_mesh_runs(self):
        for ranks, partition in [(1, "blocks"), (2, "linear"), (3, "blocks")]:
            config = self.config(CAVITY, more=f"partition: {partition}, ")
            output = self.folder / f"{ranks}.h5"
            done = self.launch(ranks, "run", config, "-o", output, status=0)
            text = done.out + done.err
            for name in ["read_time", "partition_time", "renumber_time", "cut_faces", "most_neighbours"]:
                self.assertIn(name, text)
            self.assertIn("20 cells", text + self.alone("report", output).out)

    def test_check_misses_files_before_any_work(self):
        done = self.alone("check", self.config("nowhere/at/all"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("nowhere/at/all: no OpenFOAM mesh: No such file or directory", done.err)
        copy = self.folder / "case" / "constant" / "polyMesh"
        shutil.copytree(CAVITY, copy)
        self.alone("check", self.config(self.folder / "case"), status=0)
        (copy / "owner").unlink()
        done = self.alone("check", self.config(self.folder / "case"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("constant/polyMesh/owner: no such file, nor one with .gz", done.err)

    def test_parameters_that_do_not_belong_together(self):
        for parameters, said in [
                ("case: mesh", "case: mesh needs mesh"),
                (f'case: cavity, mesh: "{CAVITY}"', "write case: mesh to read"),
                (f'case: mesh, mesh: "{CAVITY}", cells_per_rank: 100', "cells_per_rank and scope"),
                (f'case: mesh, mesh: "{CAVITY}", scope: per_rank', "cells_per_rank and scope")]:
            config = self.write("p.yaml", "campaign: p\nsteps:\n  - benchmark: flow\n"
                                          f"    parameters: {{{parameters}}}\n")
            done = self.alone("check", config)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(said, done.err)

    def test_patches_that_are_not_there_are_listed(self):
        for boundary, said in [("lid: velocity 1 0 0", "the mesh has no patch 'lid'; its patches are: xMin (wall)"),
                               ("", "patch 'yMax' (patch) has no boundary condition"),
                               ("yMax: wall; zMin: wall", "of type 'empty' in the mesh")]:
            done = self.launch(2, "run", self.config(CAVITY, boundary), "-o", self.folder / "b.h5")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(said, done.out + done.err)
            (self.folder / "b.h5").unlink(missing_ok=True)

    def test_broken_files_are_told_by_line(self):
        copy = self.folder / "mesh"
        shutil.copytree(CAVITY, copy)
        text = (copy / "faces").read_text(encoding="utf-8")
        with gzip.open(copy / "faces.gz", "wt") as out:
            out.write(text.replace("4(1 7 37 31)", "4(1 7 37 99)", 1))
        (copy / "faces").unlink()
        done = self.launch(2, "run", self.config(copy), "-o", self.folder / "b.h5")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("faces.gz:17: face 0 has the point 99; the mesh has points 0 to 59", done.out + done.err)


class OpenFoam(ProgramTest):
    """Meshes that OpenFOAM's blockMesh makes here and now."""

    def make(self, tutorial, binary):
        if shutil.which("blockMesh") is None or not (EXAMPLES / tutorial).is_dir():
            self.skipTest("OpenFOAM's blockMesh and examples (Debian: openfoam, openfoam-examples) are not installed")
        case = self.folder / pathlib.Path(tutorial).name
        for folder in ["system", "constant"]:
            shutil.copytree(EXAMPLES / tutorial / folder, case / folder)
        for packed in case.rglob("*.gz"):
            packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        control = case / "system" / "controlDict"
        lines = [line for line in control.read_text(encoding="utf-8").split("functions")[0].splitlines()
                 if not line.startswith(("writeFormat", "writeCompression"))]
        control.write_text("\n".join(lines) + f"\nwriteFormat {'binary' if binary else 'ascii'};\n"
                           f"writeCompression {'off' if binary else 'on'};\n", encoding="utf-8")
        subprocess.run(["blockMesh"], cwd=case, check=True, capture_output=True, timeout=60,
                       env=environment({"WM_PROJECT_DIR": os.environ.get("WM_PROJECT_DIR", "/usr/share/openfoam")}))
        return case

    def run_case(self, case, boundary, n_cells, dt):
        config = self.write("c.yaml", CONFIG.format(mesh=case, boundary=boundary, dt=dt,
                                                    more="laplacian: corrected, nu: 1e-3, "))
        output = self.folder / f"{case.name}.h5"
        done = self.launch(2, "run", config, "-o", output, status=0)
        self.assertIn(f"{n_cells} cells", done.out + done.err + self.alone("report", output).out)

    def test_cavity_and_step(self):
        for binary in [False, True]:
            case = self.make("icoFoam/cavity/cavity", binary)
            self.run_case(case, "movingWall: velocity 1 0 0; fixedWalls: wall", 400, "1e-4")
            shutil.rmtree(case)
            (self.folder / "cavity.h5").unlink()
        case = self.make("pisoFoam/LES/pitzDaily", True)
        self.run_case(case, "inlet: velocity 10 0 0; outlet: pressure 0", 12225, "1e-6")


if __name__ == "__main__":
    unittest.main()
