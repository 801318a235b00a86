"""What we export, read by those it is meant for. `run.sh` writes the samples and starts this."""

import json
import os
import shutil
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
import onnxruntime
from tensorboard.backend.event_processing.event_accumulator import SCALARS, EventAccumulator

SAMPLES = Path(os.environ["APPROPO_SAMPLES"])
TOLERANCE = 1e-5  # single precision, sums of at most 32 terms of order 1


def expected(name):
    return json.loads((SAMPLES / name / "expected.json").read_text())


def close(found, wanted):
    wanted = np.asarray(wanted, dtype=np.float32)
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        raise AssertionError(f"{found.dtype} {found.shape}, expected {wanted.dtype} {wanted.shape}")
    np.testing.assert_allclose(found, wanted, rtol=TOLERANCE, atol=TOLERANCE)


class Onnx(unittest.TestCase):
    def run_model(self, name, observation):
        """The model's outputs by name, for all rows at once; the first row alone gives the same."""
        path = SAMPLES / name / "policy.onnx"
        onnx.checker.check_model(str(path), full_check=True)
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        outputs = dict(zip(names, session.run(None, {"observation": observation}), strict=True))
        alone = dict(zip(names, session.run(None, {"observation": observation[:1]}), strict=True))
        for key in outputs:
            close(alone[key], outputs[key] if outputs[key].ndim == 1 else outputs[key][:1])
        return outputs

    def check_categorical(self, outputs, wanted):
        self.assertEqual(set(outputs), {"logits", "probabilities", "value"})
        close(outputs["logits"], wanted["policy"])
        close(outputs["value"], wanted["value"])
        weights = np.exp(np.asarray(wanted["policy"]))
        close(outputs["probabilities"], weights / weights.sum(axis=1, keepdims=True))

    def test_one_hot(self):
        wanted = expected("one_hot")
        indices = np.asarray(wanted["observation"], dtype=np.int64)[:, 0]
        self.check_categorical(self.run_model("one_hot", indices), wanted)

    def test_vector(self):
        wanted = expected("vector")
        rows = np.asarray(wanted["observation"], dtype=np.float32)
        self.check_categorical(self.run_model("vector", rows), wanted)

    def test_gaussian(self):
        wanted = expected("gaussian")
        outputs = self.run_model("gaussian", np.asarray(wanted["observation"], dtype=np.float32))
        self.assertEqual(set(outputs), {"mean", "log_std", "action", "value"})
        close(outputs["mean"], wanted["policy"])
        close(outputs["log_std"], wanted["log_std"])
        close(outputs["value"], wanted["value"])

        bounds = np.asarray(wanted["bounds"], dtype=np.float64)  # an infinite one is null, and so NaN
        low = np.nan_to_num(bounds[:, 0], nan=-np.inf)
        high = np.nan_to_num(bounds[:, 1], nan=np.inf)
        action = outputs["action"].astype(np.float64)
        close(outputs["action"], np.clip(wanted["policy"], low, high))
        self.assertTrue(np.all((low <= action) & (action <= high)))
        cut = np.any(outputs["mean"] != outputs["action"], axis=0)
        self.assertEqual(cut.tolist(), [True, True, False], "the sample reaches its finite bounds")

    def test_squashed(self):
        wanted = expected("squashed")
        outputs = self.run_model("squashed", np.asarray(wanted["observation"], dtype=np.float32))
        self.assertEqual(set(outputs), {"mean", "log_std", "action", "value"})
        means, log_stds = np.split(np.asarray(wanted["policy"]), 2, axis=1)
        close(outputs["mean"], means)
        close(outputs["log_std"], np.clip(log_stds, -5, 2))
        low, high = np.asarray(wanted["bounds"]).T
        close(outputs["action"], low + (high - low) * (np.tanh(means) + 1) / 2)
        action = outputs["action"].astype(np.float64)
        self.assertTrue(np.all((low <= action) & (action <= high)))

    def test_metadata(self):
        model = onnx.load(SAMPLES / "vector" / "policy.onnx")
        self.assertEqual((model.producer_name, model.ir_version), ("appropo", 8))
        self.assertRegex(model.producer_version, r"^\d+\.\d+\.\d+")
        self.assertEqual([(o.domain, o.version) for o in model.opset_import], [("", 17)])


class TensorBoard(unittest.TestCase):
    def check_curves(self, folder):
        events = EventAccumulator(str(folder), size_guidance={SCALARS: 0})
        events.Reload()
        found = [
            (tag, point.step, point.wall_time, point.value)
            for tag in events.Tags()["scalars"]
            for point in events.Scalars(tag)
        ]
        wanted = [(tag, step, time, float(np.float32(value))) for tag, step, time, value in expected("events")]
        self.assertEqual(sorted(found), sorted(wanted))

    def test_resumed_run(self):
        self.check_curves(SAMPLES / "events")

    def test_run_cut_short(self):
        with TemporaryDirectory() as folder:
            shutil.copytree(SAMPLES / "events", folder, dirs_exist_ok=True)
            first = min(Path(folder).glob("*tfevents*"))
            first.write_bytes(first.read_bytes()[:-3])
            self.check_curves(folder)


if __name__ == "__main__":
    unittest.main()
