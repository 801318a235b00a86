"""Does verify tell honest runs from forged ones? Counts those it accepts and those it refuses.

Usage: bench/verify.py [--quick]
Exit status: 0 every honest run is accepted and every forgery refused, 1 not.

A forger knows the format: every altered file carries a right checksum.
"""

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.program import ENDED, PAIRS, PROGRAM, SMALL, appropo  # noqa: E402

REFUTED = 5
SEALED = ("certificate.json", "result.json", "manifest.json", "run.json")
# What may be told by playing afresh is only told where it is large.
CLEAR = 0.01


def digest(data):
    return hashlib.sha256(data).hexdigest()


class Run:
    """The files of a run that a claim rests on, to be altered."""

    def __init__(self, folder):
        self.folder = folder
        self.certificate, self.result, self.manifest, self.about = (
            json.loads((folder / name).read_text(encoding="utf-8")) for name in SEALED
        )
        self.problem = (folder / "problem.toml").read_text(encoding="utf-8").rpartition("# sha256")[0]
        self.rounds = (folder / "rounds.jsonl").read_text(encoding="utf-8").splitlines()
        self.tensors = folder / "policies.safetensors"
        # Lines to stand before all others of a file.
        self.first = {}

    @property
    def evaluation(self):
        return self.result["evaluation"]

    @property
    def weights(self):
        return [policy["weight"] for policy in self.manifest["policies"]]

    @property
    def is_played(self):
        """Whether its claim rests on episodes: there is no model that decides."""
        return self.certificate["confidence"] is not None

    def write(self, folder):
        folder.mkdir()
        shutil.copy(self.tensors, folder / "policies.safetensors")
        (folder / "lock").touch()
        log = "".join(line + "\n" for line in self.rounds).encode()
        (folder / "rounds.jsonl").write_bytes(log)
        self.result["log"] = {"bytes": len(log), "sha256": digest(log)}
        body = self.problem.rstrip() + "\n"
        (folder / "problem.toml").write_text(f"{body}# sha256: {digest(body.encode())}\n", encoding="utf-8")
        for name, members in zip(SEALED, (self.certificate, self.result, self.manifest, self.about), strict=True):
            members = {key: value for key, value in members.items() if key != "sha256"}
            body = json.dumps(members, indent=2, ensure_ascii=False).removesuffix("\n}") + ",\n"
            body = "{\n" + self.first.get(name, "") + body.removeprefix("{\n")
            (folder / name).write_text(f'{body}  "sha256": "{digest(body.encode())}"\n}}\n', encoding="utf-8")


def set_in_both(run, **members):
    run.certificate.update(members)
    run.result.update(members)


FORGERIES = []
# Forgeries that say nothing else than the run did, but in another way. All other forged runs are written in another way
# than the program writes them, too: they must be refused for what they say.
IN_WRITING = []
WRITING = "says it in another way"


def in_writing(alter):
    IN_WRITING.append(alter)
    return alter


def forgery(alter):
    """Alters a run, or returns False where that would change nothing that the run claims.

    It is given another run as well: of the same problem and oracle, with another seed.
    """
    FORGERIES.append(alter)
    return alter


@forgery
def verdict(run, other):
    claimed = run.certificate["verdict"]
    set_in_both(run, verdict="infeasible" if claimed == "feasible" else "feasible")


@forgery
def verdict_withheld(run, other):
    if run.certificate["verdict"] == "undecided":
        return False
    set_in_both(run, verdict="undecided")


@forgery
def verdict_in_one_file(run, other):
    run.certificate["verdict"] = "infeasible" if run.certificate["verdict"] == "feasible" else "feasible"


@forgery
def lower_bound(run, other):
    set_in_both(run, lower_bound=run.certificate["lower_bound"] + 1e-4)


@forgery
def lower_bound_in_one_file(run, other):
    run.certificate["lower_bound"] += 1e-4


@forgery
def distance(run, other):
    set_in_both(run, distance=run.certificate["distance"] / 2 + 1e-3)


@forgery
def distance_in_one_file(run, other):
    run.certificate["distance"] += 1e-3


@forgery
def proof(run, other):
    # A bound of 0 needs no proof.
    if not run.certificate["separation"] or run.certificate["lower_bound"] <= 0:
        return False
    run.certificate["separation"]["witness"]["values"][0] = -9.5


@forgery
def half_space(run, other):
    if not run.certificate["separation"] or run.certificate["lower_bound"] <= 0:
        return False
    run.certificate["separation"]["lam"][0] *= -1


@forgery
def proof_left_out(run, other):
    if not run.certificate["separation"] or run.certificate["lower_bound"] <= 0:
        return False
    run.certificate["separation"] = None


@forgery
def z_bar(run, other):
    run.certificate["z_bar"][0] += 1e-3


@forgery
def z(run, other):
    run.result["z"][0] += 1e-3


@forgery
def z_and_measurements(run, other):
    name, value = next(iter(run.result["measurements"].items()))
    run.result["z"][0] += 1e-3
    if isinstance(value, list):
        value[0] += 1e-3
    else:
        run.result["measurements"][name] = value + 1e-3


@forgery
def measurements(run, other):
    run.result["measurements"]["steps"] += 1e-3


@forgery
def constraint_holds(run, other):
    first = run.result["constraints"][0]
    first["holds"] = not first["holds"]


@forgery
def constraint_distance(run, other):
    run.result["constraints"][0]["distance"] += 1e-3


@forgery
def constraint_name(run, other):
    run.result["constraints"][0]["name"] += "!"


@forgery
def constraint_left_out(run, other):
    run.result["constraints"].pop()


# The tolerance in the certificate and in problem.toml is no forgery: it states another problem.
@forgery
def tolerance(run, other):
    run.certificate["tolerance"] *= 10


@forgery
def weight_not_normal(run, other):
    run.manifest["policies"][0]["weight"] += 0.25


@forgery
def weights_moved(run, other):
    # Where there is no model, or where all policies are alike, other weights may well claim the same.
    if run.is_played or len(run.weights) < 2:
        return False
    first, second = run.manifest["policies"][:2]
    if first == second:
        return False
    moved = second["weight"] / 2
    first["weight"] += moved
    second["weight"] -= moved
    return moved > CLEAR


@forgery
def weights_swapped(run, other):
    if run.is_played or len(run.weights) < 2:
        return False
    least, largest = (run.weights.index(find(run.weights)) for find in (min, max))
    policies = run.manifest["policies"]
    policies[least]["weight"], policies[largest]["weight"] = policies[largest]["weight"], policies[least]["weight"]
    return max(run.weights) - min(run.weights) > CLEAR


@forgery
def extra_in_result(run, other):
    run.result["objective"] = 1


@forgery
def extra_in_certificate(run, other):
    run.certificate["proof"] = 1


@forgery
def confidence_of_an_exact_claim(run, other):
    if run.is_played:
        return False
    set_in_both(run, confidence=0.99)


@forgery
def confidence_raised(run, other):
    if not run.is_played:
        return False
    set_in_both(run, confidence=0.999)
    run.evaluation["confidence"] = 0.999


def counted(member):
    def alter(run, other):
        run.result[member] += 1

    alter.__name__ = f"count_of_{member}"
    return forgery(alter)


for counter in ("oracle_calls", "policies", "samples", "evaluation_samples"):
    counted(counter)


def shortened(name, table, member):
    def alter(run, other):
        if not table(run):
            return False
        table(run)[member].pop(0)

    alter.__name__ = f"shortened_{name}"
    return forgery(alter)


shortened("z_bar", lambda run: run.certificate, "z_bar")
shortened("z", lambda run: run.result, "z")
shortened("mean", lambda run: run.evaluation, "mean")
shortened("radii", lambda run: run.evaluation, "radii")


def of_evaluation(change):
    """A forgery of what is said of episodes, where something is."""

    def alter(run, other):
        return bool(run.evaluation) and change(run.evaluation, run)

    alter.__name__ = f"evaluation_{change.__name__}"
    return forgery(alter)


@of_evaluation
def radii(evaluation, run):
    # Radii are 0 already where all episodes are alike.
    was = evaluation["radii"][0]
    evaluation["radii"][0] = 1e-9
    return was > 1e-6


@of_evaluation
def radii_halved(evaluation, run):
    evaluation["radii"] = [radius / 2 for radius in evaluation["radii"]]
    return max(evaluation["radii"]) > 1e-6


@of_evaluation
def episodes(evaluation, run):
    evaluation["episodes"] = 1_000_000_000


@of_evaluation
def episodes_doubled(evaluation, run):
    for counted in (evaluation, evaluation["quantiles"]):
        counted["episodes"] *= 2
    evaluation["measured"]["count"] *= 2


@of_evaluation
def samples(evaluation, run):
    evaluation["samples"] = 1


@of_evaluation
def samples_everywhere(evaluation, run):
    evaluation["samples"] = run.result["evaluation_samples"] = 1


@of_evaluation
def samples_multiplied(evaluation, run):
    evaluation["samples"] = run.result["evaluation_samples"] = 10 * evaluation["samples"]


@of_evaluation
def distance_of_the_mean(evaluation, run):
    evaluation["distance"] += 5.5


@of_evaluation
def finding(evaluation, run):
    evaluation["finding"] = "inside" if evaluation["finding"] != "inside" else "outside"


@of_evaluation
def mean(evaluation, run):
    evaluation["mean"][0] = 1e6


@of_evaluation
def measured_mean(evaluation, run):
    evaluation["measured"]["mean"][0] += 0.1


@of_evaluation
def measured_squares(evaluation, run):
    was = evaluation["measured"]["squares"][0]
    evaluation["measured"]["squares"][0] = was / 100
    return was > CLEAR


@of_evaluation
def measured_least(evaluation, run):
    evaluation["measured"]["least"][0] -= 1


@of_evaluation
def quantiles(evaluation, run):
    # All quantiles of one measure become those of another distribution.
    column = evaluation["quantiles"]["columns"][0]
    column[:] = [value + 0.5 + abs(value) for value in column]


@of_evaluation
def quantiles_unsorted(evaluation, run):
    column = evaluation["quantiles"]["columns"][0]
    was = list(column)
    column.reverse()
    return column[-1] < was[-1]


@forgery
def evaluation_left_out(run, other):
    if not run.evaluation:
        return False
    run.result["evaluation"] = None
    run.result["evaluation_samples"] = 0


@forgery
def evaluation_of_another_run(run, other):
    if not run.evaluation or not clearly_different(run, other):
        return False
    run.result["evaluation"] = other.evaluation
    run.result["evaluation_samples"] = other.evaluation["samples"]


def clearly_different(run, other):
    """Whether their episodes tell two mixtures apart."""
    mine, theirs = run.evaluation, other.evaluation
    if not (mine and theirs):
        return False
    entries = zip(mine["mean"], theirs["mean"], mine["radii"], theirs["radii"], strict=True)
    return any(abs(a - b) > 2 * (r + s) for a, b, r, s in entries)


@forgery
def policies_of_another_run(run, other):
    # Planned policies are the same for every seed.
    gap = max(abs(a - b) for a, b in zip(run.result["z"], other.result["z"], strict=True))
    if not (clearly_different(run, other) if run.is_played else gap > CLEAR):
        return False
    run.manifest, run.tensors = other.manifest, other.tensors
    run.result["policies"] = len(run.weights)


# Nothing is claimed of what the rounds say of λ and distances, as docs/runs.md states; only that they are all there.
@forgery
def rounds_cut(run, other):
    run.rounds.pop()


@forgery
def rounds_added(run, other):
    run.rounds.append(run.rounds[-1])


@forgery
def rounds_misnumbered(run, other):
    line = json.loads(run.rounds[-1])
    line["round"] += 1
    run.rounds[-1] = json.dumps(line)


@forgery
def rounds_with_more_samples(run, other):
    line = json.loads(run.rounds[-1])
    line["samples"] += 1000
    run.rounds[-1] = json.dumps(line)


@forgery
def seed_of_the_run(run, other):
    run.about["seed"] += 1


@forgery
def seed_of_the_result(run, other):
    run.result["seed"] += 1


@forgery
def seed_of_the_problem(run, other):
    run.problem = re.sub(r"(?m)^seed = \d+.*$", f"seed = {run.about['seed'] + 1}", run.problem)


def with_threshold(run, toward):
    change = lambda match: f"{match[1]} = {float(match[2]) + toward[match[1]]}"  # noqa: E731
    run.problem, count = re.subn(r"(?m)^(at_most|at_least) = (-?[\d.e-]+)$", change, run.problem, count=1)
    return count == 1


@forgery
def stricter_threshold(run, other):
    return with_threshold(run, {"at_most": -1000, "at_least": 1000})


@forgery
def looser_threshold(run, other):
    # What is feasible stays so, at the same distance.
    if run.result["constraints"][0]["distance"] <= CLEAR:
        return False
    return with_threshold(run, {"at_most": 1000, "at_least": -1000})


@forgery
def failure_that_explains_fewer_samples(run, other):
    run.result.update(failure="the world broke", samples=1)


@in_writing
@forgery
def verdict_twice(run, other):
    # Of two members of one name, people read the first, and most programs the last.
    run.first["result.json"] = '  "verdict": "proved",\n'


# The name of the problem and the command in run.json are labels: no claim rests on them, and nothing could check them.


@in_writing
@forgery
def extra_in_run(run, other):
    run.about["proof"] = 1


@in_writing
@forgery
def extra_in_manifest(run, other):
    run.manifest["proof"] = 1


@forgery
def fewer_rounds_allowed_than_played(run, other):
    run.problem = re.sub(r"(?m)^rounds = \d+", "rounds = 1", run.problem)
    return len(run.rounds) > 1


def solve(folder, problem, oracle, seed):
    # Seeds that learn for longer behave differently, so that their policies can't stand in for one another.
    samples = 1500 if seed % 2 == 0 else 6000
    settings = ("--oracle", oracle, "--samples", samples, "--seed", seed, *SMALL.get(oracle, ()))
    appropo("solve", problem, *settings, "--run", folder, "--quiet", expected=ENDED)
    return folder


def verify(folder):
    done = subprocess.run([PROGRAM, "verify", folder], capture_output=True, text=True)
    return done.returncode, (done.stdout + done.stderr).strip().splitlines()[-2:]


def forged(place, honest, each):
    """Folders with forged runs, each with what was done to which run."""
    generator = random.Random(0)
    for alter in FORGERIES:
        pairs = list(honest)
        generator.shuffle(pairs)
        # One run of each pair before a second of any, so that all kinds of runs are forged.
        candidates = [(pair, seed) for seed in range(len(honest[pairs[0]])) for pair in pairs]
        made = 0
        for pair, seed in candidates:
            if made == each:
                break
            run = Run(honest[pair][seed])
            other = Run(honest[pair][(seed + 1) % len(honest[pair])])
            if alter(run, other) is False:
                continue
            folder = place / f"{alter.__name__}-{made}"
            run.write(folder)
            made += 1
            yield folder, alter, f"{alter.__name__} of {' '.join(pair)}, seed {seed}"
        if made == 0:
            raise AssertionError(f"{alter.__name__} changes nothing in any run")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer runs and forgeries")
    quick = parser.parse_args().quick
    pairs = [pair for pair in PAIRS if not quick or pair[0] in ("mars-rover", "mars-rover-infeasible", "cart-pole")]
    seeds, each = (2, 2) if quick else (10, 12)
    wrong = []
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(os.cpu_count()) as threads:
        place = Path(temporary)
        tasks = {
            pair: [threads.submit(solve, place / "-".join((*pair, str(seed))), *pair, seed) for seed in range(seeds)]
            for pair in pairs
        }
        honest = {pair: [task.result() for task in of_pair] for pair, of_pair in tasks.items()}
        folders = [folder for of_pair in honest.values() for folder in of_pair]
        for folder, (status, said) in zip(folders, threads.map(verify, folders), strict=True):
            if status != 0:
                wrong.append(f"honest but refused with status {status}: {folder.name}: {said}")
        accepted = len(folders) - len(wrong)
        refused, forgeries = 0, list(forged(place, honest, each))
        results = threads.map(verify, [folder for folder, _, _ in forgeries])
        for (_, alter, what), (status, said) in zip(forgeries, results, strict=True):
            if status == REFUTED and (alter in IN_WRITING or WRITING not in " ".join(said)):
                refused += 1
            else:
                wrong.append(f"forged but not refused for what it says, status {status}: {what}: {said}")
    number = len(forgeries)
    print(f"verify: {accepted} of {len(folders)} honest runs accepted, {refused} of {number} forged ones refused")
    print("\n".join(wrong), end="\n" if wrong else "")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
