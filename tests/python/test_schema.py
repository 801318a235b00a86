"""The schema of problem files, by a validator that others wrote. The Rust tests of problem files write the problems."""

import json
import unittest

import jsonschema
from program import TARGET

PROBLEMS = TARGET / "tmp/schema.json"


class Schema(unittest.TestCase):
    def test_what_can_be_read_fits_and_mistakes_do_not(self):
        written = json.loads(PROBLEMS.read_text())
        jsonschema.Draft202012Validator.check_schema(written["schema"])
        validator = jsonschema.Draft202012Validator(written["schema"])
        for case in written["problems"]:
            with self.subTest(case["name"]):
                errors = [error.message for error in validator.iter_errors(case["problem"])]
                self.assertEqual(not errors, case["fits"], errors)
