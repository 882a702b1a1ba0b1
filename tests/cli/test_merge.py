"""`seatrial merge`: launches of one campaign become one study, others are refused."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import ProgramTest, noop_config  # noqa: E402

import h5py  # noqa: E402
import numpy  # noqa: E402


class Merge(ProgramTest):
    def measured(self, name, ranks=2, config=None, *options, env=None):
        config = config or self.write("c.yaml", noop_config(2, ", layout: {ranks: [1, 2]}"))
        self.launch(ranks, "run", config, "-o", name, *options, env=env, status=0)
        return name

    def test_nothing_of_a_launch_is_lost(self):
        files = [self.measured("a.h5"), self.measured("b.h5"),
                 self.measured("c.h5", 4, env={"SEATRIAL_FAKE_NODES": "block:2,2"})]
        self.alone("merge", "study.h5", *files, status=0)
        with h5py.File(self.folder / "study.h5") as study:
            self.assertEqual([n.decode() for n in study["launches/file"]], files)
            self.assertEqual(list(study["launches/n_nodes"]), [1, 1, 2])
            for k, name in enumerate(files):
                with h5py.File(self.folder / name) as launch:
                    self.same(launch, study[f"launches/{k:04}"])
        one = self.alone("report", "--launch", "1", "study.h5", status=0).out
        alone = self.alone("report", "b.h5", status=0).out
        self.assertEqual(one.replace("study.h5", "b.h5"), alone.replace("study.h5", "b.h5"))
        listed = self.alone("report", "study.h5", status=0).out
        self.assertIn("a study of 3 launches", listed)
        self.assertIn("has no launch 3", self.alone("report", "--launch", "3", "study.h5", status=3).err)
        self.assertIn("--launch", self.alone("report", "--format", "json", "study.h5", status=3).err)
        self.assertIn("no study", self.alone("report", "--launch", "0", "a.h5", status=3).err)

    def same(self, launch, copy):
        """Every object, number and attribute, and the scales over which each dataset lies."""
        names = []
        launch.visit(names.append)
        found = []
        copy.visit(found.append)
        self.assertEqual(sorted(names), sorted(found))
        self.assertEqual(sorted(launch.attrs), sorted(copy.attrs))
        n_dimensions = 0
        for name in names:
            one, other = launch[name], copy[name]
            self.assertEqual(sorted(one.attrs), sorted(other.attrs), name)
            if isinstance(one, h5py.Dataset):
                numpy.testing.assert_array_equal(one[()], other[()], name)
                for mine, theirs in zip(one.dims, other.dims):
                    self.assertEqual([s.name for s in mine.values()],
                                     [s.name[len(copy.name):] for s in theirs.values()])
                    n_dimensions += len(mine)
        self.assertGreater(n_dimensions, 50)

    def test_what_does_not_belong_together_is_refused(self):
        other = self.write("other.yaml", noop_config(2, ", layout: {ranks: [1]}"))
        cases = [(self.measured("other.h5", 2, other), "the config differs in line"),
                 (self.measured("set.h5", 2, None, "--set", "defaults.repeat.max=7"),
                  "list of --set changes differs"),
                 (self.measured("crowd.h5", 3), "cores per rank must stay the same"),
                 ("nowhere.h5", "nowhere.h5")]
        first = self.measured("first.h5")
        for name, text in cases + [(first, "are the same launch")]:
            done = self.alone("merge", "study.h5", first, name)
            self.assertIn(done.returncode, (3, 4))
            self.assertIn(text, done.err)
            self.assertFalse((self.folder / "study.h5").exists())
        self.alone("merge", "study.h5", first, status=0)
        done = self.alone("merge", "study.h5", first, status=4)
        self.assertIn("exists and is never overwritten", done.err)
        self.assertIn("study", self.alone("merge", "s2.h5", "study.h5", status=3).err)


if __name__ == "__main__":
    unittest.main()
