//! A run's files: what was written comes back bit for bit, and anything else is refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use appropo::nn::{Activation, Inputs, Mlp, Shape};
use appropo::policy::{Actions, AnyPolicy, Mixed, NetworkPolicy, TabularPolicy};
use appropo::random;
use appropo::state::Saver;
use appropo_run::policies::{self, Manifest};
use appropo_run::{Checkpoint, Directory, Error, FORMAT, Log, LogDigest};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const MANIFEST: &str = "manifest.json";
const TENSORS: &str = "policies.safetensors";

/// A new folder.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

/// A run that has a mixture, a checkpoint and a sealed JSON object.
fn run(name: &str) -> Directory {
    let directory = Directory::create(&folder(name)).unwrap();
    directory.write_json("run.json", &json!({ "version": "0.2.0", "seed": 3 })).unwrap();
    directory.write_json("certificate.json", &json!({ "distance": 0.1, "z_bar": [1.5, -2.0] })).unwrap();
    policies::save(&directory, &mixture()).unwrap();
    let log = LogDigest { bytes: 7, sha256: "ab".into() };
    Checkpoint { rounds: 5, log, state: vec![1, 2, 3] }.write(&directory).unwrap();
    directory
}

/// Reads one of its files.
fn read(directory: &Directory, name: &str) -> Result<(), Error> {
    match name {
        MANIFEST | TENSORS => policies::load(directory).map(drop),
        "checkpoint" => Checkpoint::read(directory).map(drop),
        _ => directory.read_json::<Value>(name).map(drop),
    }
}

fn network(shape: Shape, actions: Actions, seed: u64) -> AnyPolicy {
    let network = Arc::new(Mlp::new(shape).unwrap());
    let mut rng = random::generator(seed);
    let count = network.parameters() + actions.parameters();
    let parameters = (0..count).map(|_| random::normal(&mut rng) as f32).collect();
    NetworkPolicy::new(network, actions, parameters).unwrap().into()
}

/// Every kind of policy.
fn mixture() -> Mixed {
    let certain = |table: Vec<u32>| AnyPolicy::Table(TabularPolicy::deterministic(2, 3, table).unwrap());
    let mixed = |table: Vec<f64>| AnyPolicy::Table(TabularPolicy::stochastic(2, 3, table).unwrap());
    let third = 1.0 / 3.0;
    let shape = Shape {
        inputs: Inputs::OneHot(5),
        hidden: vec![4],
        activation: Activation::Relu,
        policy: 3,
        value: 2,
    };
    let vector =
        Shape { inputs: Inputs::Vector(3), hidden: vec![4, 2], activation: Activation::Tanh, ..shape };
    let bounds = vec![(-0.1, 0.3), (f64::NEG_INFINITY, f64::INFINITY), (0.0, f64::INFINITY)];
    let policies = [
        certain(vec![2, 0]),
        certain(vec![0, 1, 2, 0]),
        mixed(vec![third, third, third, 0.1, 0.2, 0.7]),
        mixed(vec![1.0, 0.0, 0.0, 0.5, 0.25, 0.25, 0.1, 0.2, 0.7, 0.0, 1.0, 0.0]),
        network(shape, Actions::Categorical, 1),
        network(vector.clone(), Actions::Gaussian(bounds), 2),
        network(Shape { policy: 4, ..vector }, Actions::Squashed(vec![(-1.0, 1.0), (0.0, 0.3)]), 3),
    ];
    let weights = [0.1, 0.7, 1.3, 0.05, 1.0 / 3.0, 0.9, 0.2];
    Mixed::new(weights.into_iter().zip(policies.map(Arc::new)))
}

fn bytes(mixture: &Mixed) -> Vec<u8> {
    let mut saver = Saver::default();
    saver.put(mixture);
    saver.into_bytes()
}

#[test]
fn what_was_written_comes_back_bit_for_bit() {
    let directory = run("round_trip");
    let loaded = policies::load(&directory).unwrap();
    assert_eq!(loaded.parts().len(), 7);
    assert!(bytes(&loaded) == bytes(&mixture()));
    // And so again.
    policies::save(&directory, &loaded).unwrap();
    assert!(bytes(&policies::load(&directory).unwrap()) == bytes(&mixture()));
    let checkpoint = Checkpoint::read(&directory).unwrap().unwrap();
    assert_eq!((checkpoint.rounds, checkpoint.log.bytes, checkpoint.state), (5, 7, vec![1, 2, 3]));
    assert_eq!(directory.read_json::<Value>("certificate.json").unwrap()["distance"], 0.1);
}

const FILES: [&str; 4] = [TENSORS, MANIFEST, "checkpoint", "certificate.json"];

#[test]
fn any_altered_byte_is_refused() {
    let directory = run("altered");
    for name in FILES {
        let whole = fs::read(directory.file(name)).unwrap();
        for place in 0..whole.len() {
            for change in [1, 0x80] {
                let mut altered = whole.clone();
                altered[place] ^= change;
                fs::write(directory.file(name), altered).unwrap();
                let result = read(&directory, name);
                assert!(
                    matches!(result, Err(Error::Damaged { .. } | Error::Newer { .. })),
                    "byte {place} of {name}: {result:?}"
                );
            }
        }
        fs::write(directory.file(name), whole).unwrap();
        read(&directory, name).unwrap();
    }
}

#[test]
fn any_end_too_early_is_refused() {
    let directory = run("truncated");
    for name in FILES {
        let whole = fs::read(directory.file(name)).unwrap();
        for length in 0..whole.len() {
            fs::write(directory.file(name), &whole[..length]).unwrap();
            let result = read(&directory, name);
            assert!(matches!(result, Err(Error::Damaged { .. })), "{length} bytes of {name}: {result:?}");
        }
        fs::write(directory.file(name), whole).unwrap();
    }
}

/// A manifest with a right checksum, in place of the run's.
fn forge(directory: &Directory, change: impl Fn(&mut Manifest)) {
    let bytes = directory.read_bytes(MANIFEST).unwrap();
    let mut manifest = Manifest::parse(&directory.file(MANIFEST), &bytes).unwrap();
    change(&mut manifest);
    directory.write_json(MANIFEST, &manifest).unwrap();
}

#[test]
fn a_manifest_that_points_elsewhere_is_refused() {
    for name in ["../x", "/etc/passwd", "a/b", "..", ".hidden", "", "a\\b", "c:x", "x\0"] {
        let directory = run("elsewhere");
        forge(&directory, |manifest| manifest.tensors = name.into());
        let error = policies::load(&directory).unwrap_err().to_string();
        assert!(error.contains("not a file of the run's folder"), "{name:?}: {error}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_is_refused() {
    let directory = run("link");
    let elsewhere = folder("link_elsewhere");
    fs::rename(directory.file(TENSORS), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, directory.file(TENSORS)).unwrap();
    let error = policies::load(&directory).unwrap_err().to_string();
    assert!(error.contains("it is a link"), "{error}");
}

#[test]
fn weights_that_are_no_distribution_are_refused() {
    let changes: [(fn(&mut Manifest), &str); 4] = [
        (|manifest| manifest.policies[0].weight = -0.1, "a weight is -0.1, expected more than 0"),
        (|manifest| manifest.policies[0].weight = 0.0, "a weight is 0, expected more than 0"),
        (|manifest| manifest.policies[0].weight = 2.0, "the weights add up to 2.9"),
        (|manifest| manifest.policies.clear(), "the weights add up to 0, expected 1"),
    ];
    for (change, says) in changes {
        let directory = run("weights");
        forge(&directory, change);
        let error = policies::load(&directory).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn what_a_file_says_does_not_reach_the_terminal_raw() {
    let directory = run("control");
    let policies = json!([{ "weight": 1.0, "kind": "\u{1b}[2J" }]);
    let manifest = json!({ "tensors": TENSORS, "tensors_sha256": "", "policies": policies });
    directory.write_json(MANIFEST, &manifest).unwrap();
    let error = policies::load(&directory).unwrap_err().to_string();
    assert!(error.contains("\\u{1b}[2J") && !error.contains('\u{1b}'), "{error:?}");
}

/// Numbers behind a header that says what they are.
fn tensors(header: &Value, numbers: &[u8]) -> Vec<u8> {
    let header = header.to_string();
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), numbers].concat()
}

#[test]
fn claims_of_many_entries_are_refused_without_allocating() {
    let many = 1u64 << 60;
    let manifest = |kind: Value| -> Manifest {
        let mut entry = json!({ "weight": 1.0 });
        entry.as_object_mut().unwrap().extend(kind.as_object().unwrap().clone());
        let object = json!({ "tensors": TENSORS, "tensors_sha256": "", "policies": [entry] });
        serde_json::from_value(object).unwrap()
    };
    let table = json!({ "kind": "table", "states": many, "actions": many });
    let small = json!({ "kind": "table", "states": 1, "actions": 1 });
    let net = |hidden: Value| {
        let inputs = json!({ "vector": 1 });
        let shape =
            json!({ "inputs": inputs, "hidden": hidden, "activation": "relu", "policy": 1, "value": 1 });
        json!({ "kind": "network", "shape": shape, "gaussian": false })
    };
    let header = |dtype: &str, shape: Value, end: u64| json!({ "0.table": { "dtype": dtype, "shape": shape, "data_offsets": [0, end] } });
    let one = tensors(&header("U32", json!([1]), 4), &[0; 4]);
    let cases = [
        (small.clone(), tensors(&header("F64", json!([many]), 1 << 63), &[])),
        (small.clone(), tensors(&header("U8", json!([many]), many), &[])),
        (small.clone(), tensors(&header("F64", json!([many]), 8), &[0; 8])),
        (small.clone(), tensors(&header("F64", json!([many, many]), 8), &[0; 8])),
        (small, [&u64::MAX.to_le_bytes(), &one[8..]].concat()),
        (table, one.clone()),
        (net(json!([many])), one.clone()),
        (net(json!([1 << 24, 1 << 24, 1 << 24])), one),
    ];
    for (i, (kind, numbers)) in cases.into_iter().enumerate() {
        let manifest = manifest(kind);
        let mut result = None;
        let taken = allocation_counter::measure(|| {
            result = Some(manifest.policies(Path::new(TENSORS), &numbers));
        });
        assert!(result.unwrap().is_err(), "case {i}");
        assert!(taken.bytes_max < 16_384, "case {i}: {} bytes", taken.bytes_max);
    }
    // A checkpoint whose state is said to be that long.
    let mut saver = Saver::default();
    saver.put(&5usize);
    saver.put(&0u64);
    saver.put_bytes(b"");
    saver.put(&many);
    let content = saver.into_bytes();
    let taken = allocation_counter::measure(|| assert!(Checkpoint::parse(&content).is_err()));
    assert!(taken.bytes_max < 16_384, "{} bytes", taken.bytes_max);
}

#[test]
fn files_of_a_later_version_say_so() {
    let directory = run("newer");
    let newer = |name: &str| match read(&directory, name) {
        Err(Error::Newer { found, known, .. }) => assert_eq!((found, known), (FORMAT as u64 + 1, FORMAT)),
        other => panic!("{name}: {other:?}"),
    };
    for name in [MANIFEST, "certificate.json"] {
        let text = fs::read_to_string(directory.file(name)).unwrap();
        let (now, later) = (format!("\"format\": {FORMAT}"), format!("\"format\": {}", FORMAT + 1));
        assert!(text.contains(&now));
        fs::write(directory.file(name), text.replace(&now, &later)).unwrap();
        newer(name);
    }
    let mut bytes = fs::read(directory.file("checkpoint")).unwrap();
    let place = b"appropo checkpoint\n".len();
    bytes[place..place + 4].copy_from_slice(&(FORMAT + 1).to_le_bytes());
    fs::write(directory.file("checkpoint"), bytes).unwrap();
    newer("checkpoint");
}

/// Version 0.1 wrote format 1.
#[test]
fn runs_of_an_earlier_version_say_so() {
    let place = folder("older");
    fs::create_dir_all(&place).unwrap();
    for (version, shown) in [("0.1.0", "0.1.0"), ("\u{1b}[2J", "of another version")] {
        let run = json!({ "format": 1, "version": version, "problem": "rover", "seed": 0, "sha256": "" });
        fs::write(place.join("run.json"), run.to_string()).unwrap();
        for result in [Directory::read(&place), Directory::open(&place)] {
            let error = result.unwrap_err();
            assert!(matches!(error, Error::Older { .. }), "{error}");
            let said = format!(
                "{} was written by appropo {shown}, whose runs this version does not read; use that version for it",
                place.display()
            );
            assert_eq!(error.to_string(), said);
        }
    }
    // A file of one among those of a run.
    let directory = run("mixed");
    let text = fs::read_to_string(directory.file("certificate.json")).unwrap();
    fs::write(directory.file("certificate.json"), text.replace("\"format\": 2", "\"format\": 1")).unwrap();
    let error = read(&directory, "certificate.json").unwrap_err().to_string();
    assert!(error.contains("its format is not 2"), "{error}");
}

#[test]
fn a_checkpoint_with_a_right_checksum_but_no_sense_is_refused() {
    let directory = run("senseless");
    for content in [vec![], vec![0xff; 40], vec![0; 100]] {
        let mut bytes = b"appropo checkpoint\n".to_vec();
        bytes.extend(FORMAT.to_le_bytes());
        bytes.extend(Sha256::digest(&content));
        bytes.extend(content);
        fs::write(directory.file("checkpoint"), bytes).unwrap();
        assert!(matches!(Checkpoint::read(&directory), Err(Error::Damaged { .. })));
    }
}

#[test]
fn a_folder_has_one_writer_and_one_run() {
    let directory = run("one_writer");
    let path = directory.path();
    assert!(matches!(Directory::open(path), Err(Error::InUse { .. })));
    assert!(matches!(Directory::create(path), Err(Error::NotEmpty { .. })));
    Directory::read(path).unwrap();
    let path = path.to_owned();
    drop(directory);
    Directory::open(&path).unwrap();
    assert!(matches!(Directory::create(&path), Err(Error::NotEmpty { .. })));

    let other = folder("other_files");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("notes.txt"), "mine").unwrap();
    assert!(matches!(Directory::create(&other), Err(Error::NotEmpty { .. })));
    assert!(matches!(Directory::open(&other), Err(Error::NoRun { .. })));
    assert!(matches!(Directory::read(&other), Err(Error::NoRun { .. })));
}

/// What a process leaves that was killed before its folder was a run is written over; what someone else wrote is not.
#[test]
fn files_of_someone_else_are_left_alone() {
    let killed = folder("killed_early");
    let directory = Directory::create(&killed).unwrap();
    directory.write_text("problem.toml", "discount = 0.99").unwrap();
    Log::create(&directory).unwrap();
    drop(directory);
    Directory::create(&killed).unwrap();
    for name in ["problem.toml", "rounds.jsonl", "lock"] {
        let own = folder("own_files");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join(name), "mine").unwrap();
        assert!(matches!(Directory::create(&own), Err(Error::NotEmpty { .. })), "{name}");
        assert_eq!(fs::read_to_string(own.join(name)).unwrap(), "mine");
    }
}
