//! Models in the files of model checkers: what is read, what is written, and what is refused.

use std::collections::BTreeMap;
use std::io::Write;

use appropo::env::explicit::{Asked, ExplicitModel, Values};
use appropo::env::{garnet, mars_rover};
use appropo::measurement::Discounting;
use appropo::oracle::{Exact, Planner, Respond};
use appropo::random;
use appropo_file::model::{InMemory, Limits, encode, read_from};

const LIMITS: Limits = Limits { unpacked: 1 << 26, transitions: 1 << 20 };

/// Two ways through a door, one of them careful.
const DOOR: &str = "\
@type: MDP
@value_type: double
@parameters

@reward_models
energy time
@nr_states
4
@nr_choices
5
@model
state 0 [1, 2] \"two words\" init
//[x=-3\t& open\t& w=0.5]
\taction push [3, 0]
\t\t1 : 0.5
\t\t2 : 1/2
\taction pull [0, 0]
\t\t1 : $half
\t\t0 : 0.5
state 1 [0, 0] goal
//[x=0\t& !open\t& w=1.0]
\taction __NOLABEL__ [0, 0]
\t\t1 : 1
state 2 [0, 1e-7] broken init
//[x=12\t& open\t& w=0.25]
\taction push [0, 0]
\t\t3 : 1
state 3 [0, 0] goal \"two words\"
//[x=1\t& open\t& w=0.25]
\taction __NOLABEL__ [0, 0]
\t\t3 : 1
";

fn door() -> String {
    DOOR.replace("@reward_models", "@placeholders\n$half : 0.5\n@reward_models")
}

fn files<'a>(files: impl IntoIterator<Item = (&'a str, Vec<u8>)>) -> InMemory {
    InMemory(BTreeMap::from_iter(files.into_iter().map(|(name, bytes)| (name.to_owned(), bytes))))
}

fn read(name: &str, bytes: impl Into<Vec<u8>>) -> Result<ExplicitModel, String> {
    read_from(&files([(name, bytes.into())]), name, &LIMITS).map_err(|error| error.to_string())
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

#[test]
fn all_of_a_model_is_read() {
    let model = read("door.drn", door()).unwrap();
    assert_eq!((model.states(), model.choices(), model.transitions()), (4, 5, 7));
    assert_eq!(model.start(), [(0, 0.5), (2, 0.5)]);
    assert_eq!(model.probabilities()[..4], [0.5; 4]);
    assert_eq!(model.reward("energy").unwrap().states, [1.0, 0.0, 0.0, 0.0]);
    assert_eq!(model.reward("energy").unwrap().choices, [3.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(model.reward("time").unwrap().states, [2.0, 0.0, 1e-7, 0.0]);
    assert_eq!(model.label("two words").unwrap().states, [0, 3]);
    assert_eq!(model.choice_label(1), Some("pull"));
    assert_eq!(model.choice_label(2), None);
    let variables = &model.valuations().unwrap().variables;
    assert_eq!(variables[0].values, Values::Integers(vec![-3, 0, 12, 1]));
    assert_eq!(variables[1].values, Values::Flags(vec![true, false, true, true]));
    assert_eq!(variables[2].values, Values::Numbers(vec![0.5, 1.0, 0.25, 0.25]));
}

/// An initial state that was named twice was twice as likely.
#[test]
fn an_initial_state_counts_once() {
    let model = read("door.drn", door().replace("broken init", "init broken init")).unwrap();
    assert_eq!(model.start(), [(0, 0.5), (2, 0.5)]);
}

#[test]
fn every_format_keeps_all_of_it() {
    let model = read("door.drn", door()).unwrap();
    let drn = encode(&model, "door.drn").unwrap();
    let umb = encode(&model, "door.umb").unwrap();
    assert_eq!(read("door.drn", drn.clone()).as_ref(), Ok(&model));
    let of_umb = read("door.umb", umb.clone()).unwrap();
    assert_eq!(of_umb, model);
    assert_eq!(encode(&of_umb, "again.drn").unwrap(), drn, "from DRN to UMB and back");
    assert_eq!(encode(&of_umb, "again.umb").unwrap(), umb, "the same bytes each time");
    assert_eq!(read("door.drn.gz", encode(&model, "door.drn.gz").unwrap()).as_ref(), Ok(&model));
    assert_eq!(model.checksum(), of_umb.checksum());
}

/// Worlds of ours, which have rewards of transitions, ends and random numbers, through every format.
#[test]
fn worlds_of_ours_keep_their_answers_in_every_format() {
    let size = garnet::Size { states: 40, actions: 3, branching: 4, measures: 2 };
    let worlds = [mars_rover::world("8x8", 0.05), garnet::world(size, &mut random::generator(1))];
    for world in worlds {
        let model = ExplicitModel::of_world(&world.unwrap().model).unwrap();
        let umb = read("world.umb", encode(&model, "world.umb").unwrap()).unwrap();
        let drn = read("world.drn", encode(&umb, "world.drn").unwrap()).unwrap();
        assert_eq!(encode(&drn, "world.drn"), encode(&umb, "world.drn"));
        let worlds = [&model, &umb, &drn].map(|model| model.world(&Asked::default()).unwrap());
        let lam: Vec<f64> = (0..worlds[0].measures().dim()).map(|i| 1.0 + i as f64).collect();
        let order = |name: &str| worlds[2].measures().range(name).unwrap().start;
        assert_eq!(order("steps"), worlds[0].measures().range("steps").unwrap().start);
        let [first, second, third] = worlds.each_ref().map(|world| world.rewards(&lam));
        let agree =
            |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-12 * a.abs().max(1.0));
        assert!(agree(&first, &second) && agree(&first, &third));
    }
}

const TRA: &str =
    "3 4 6\n0 0 1 0.5 go\n0 0 2 0.5 go\n0 1 0 1 wait\n1 0 1 1\n2 0 0 0.25 back\n2 0 2 0.75 back\n";

fn prism<'a>(more: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<ExplicitModel, String> {
    let beside = more.into_iter().map(|(name, text)| (name, text.into()));
    let all = files([("m.tra", TRA.into())].into_iter().chain(beside));
    read_from(&all, "m.tra", &LIMITS).map_err(|error| error.to_string())
}

#[test]
fn all_files_of_prism_are_read() {
    let model = prism([
        ("m.lab", "0=\"init\" 1=\"deadlock\" 2=\"goal\"\n0: 0\n1: 2\n2: 0 2\n"),
        ("m.sta", "(s,ok)\n0:(0,true)\n1:(5,false)\n2:(-1,true)\n"),
        ("m1.srew", "# Reward structure \"energy\"\n# State rewards\n3 2\n0 1.5\n2 2\n"),
        ("m2.srew", "# Reward structure\n# State rewards\n3 0\n"),
        ("m1.trew", "# Reward structure \"energy\"\n# Transition rewards\n3 4 2\n0 0 1 10\n0 0 2 20\n"),
        ("m2.trew", "3 4 2\n2 0 0 7\n2 0 2 7\n"),
    ])
    .unwrap();
    assert_eq!((model.states(), model.choices(), model.transitions()), (3, 4, 6));
    assert_eq!(model.start(), [(0, 0.5), (2, 0.5)]);
    assert_eq!(model.label("goal").unwrap().states, [1, 2]);
    let energy = model.reward("energy").unwrap();
    assert_eq!((&energy.states[..], &energy.transitions[..2]), (&[1.5, 0.0, 2.0][..], &[10.0, 20.0][..]));
    // What every transition of a choice earns is the choice's.
    assert_eq!(model.reward("reward2").unwrap().choices, [0.0, 0.0, 0.0, 7.0]);
    assert_eq!(
        [0, 1, 2, 3].map(|choice| model.choice_label(choice)),
        [Some("go"), Some("wait"), None, Some("back")]
    );
    assert_eq!(model.valuations().unwrap().variables[0].values, Values::Integers(vec![0, 5, -1]));
    // Rows in another order are the same model.
    let mut lines: Vec<&str> = TRA.lines().collect();
    lines[1..].reverse();
    let all = files([("m.tra", lines.join("\n").into())]);
    let other = read_from(&all, "m.tra", &LIMITS).unwrap();
    assert_eq!(other.choices(), 4);
    let chain = files([("c.tra", "2 3\n0 0 0.5\n0 1 0.5\n1 1 1\n".into())]);
    assert!(read_from(&chain, "c.tra", &LIMITS).unwrap().is_chain());
}

#[test]
fn mistakes_in_drn_are_shown_where_they_stand() {
    let change = |from: &str, to: &str| read("door.drn", door().replacen(from, to, 1)).unwrap_err();
    let mistakes = [
        change("1 : 0.5", "1 : 0.4"),
        change("1 : 0.5", "9 : 0.5"),
        change("1 : 0.5", "1 : half"),
        change("1 : 0.5", "1 : [0.4, 0.6]"),
        change("1 : 0.5", "1 : 1e999"),
        change("1 : 0.5", "1 : -0.5"),
        change("1 : 0.5", "one : 0.5"),
        change("$half\n", "$full\n"),
        change("[3, 0]", "[3]"),
        change("[3, 0]", "[3, 0"),
        change("[3, 0]", "[3, x]"),
        change("state 1", "state 7"),
        change("state 2", "stat 2"),
        change("\"two words\"", "\"two words"),
        change("@nr_states\n4", "@nr_states\n5"),
        change("@nr_states\n4", "@nr_states\n3"),
        change("@nr_states\n4", "@nr_states\n0"),
        change("@nr_states\n4", "@nr_states\nmany"),
        change("@nr_choices\n5", "@nr_choices\n6"),
        change("@type: MDP", "@type: CTMC"),
        change("@type: MDP", "@type: POMDP"),
        change("@type: MDP", "@kind: MDP"),
        change("@type: MDP\n", ""),
        change("@type: MDP", "@type: DTMC"),
        change("@parameters\n", "@parameters\np q"),
        change("double", "double-interval"),
        read("door.drn", door().replace(" init", "")).unwrap_err(),
        read("door.drn", &door().as_bytes()[..door().len() / 2]).unwrap_err(),
        read("door.drn", "@type: MDP\n@nr_states\n1\n").unwrap_err(),
        read("door.drn", "").unwrap_err(),
        read("door.drn", [b"@type: MDP\n".as_slice(), &[0xff; 8]].concat()).unwrap_err(),
        read("door.drn", vec![b'x'; 2 << 20]).unwrap_err(),
        read("door.txt", door()).unwrap_err(),
    ];
    insta::assert_snapshot!(mistakes.join("\n"));
}

#[test]
fn mistakes_in_the_files_of_prism_are_shown_where_they_stand() {
    let of_tra = |text: &str| read("m.tra", text).unwrap_err();
    let mistakes = [
        of_tra(""),
        of_tra("3\n"),
        of_tra("2 1 1 1\n0 0 0 1 1\n"),
        of_tra(&TRA.replace("0.25", "0.5")),
        of_tra(&TRA.replace("0 1 0 1 wait", "0 2 0 1 wait")),
        of_tra(&TRA.replace("0 1 0 1 wait", "0 1 8 1 wait")),
        of_tra(&TRA.replace("0.25", "x")),
        of_tra(TRA.strip_suffix("2 0 2 0.75 back\n").unwrap()),
        of_tra("1 1\n0 0 2.5\n"),
        of_tra("4000000000 0 0\n"),
        prism([("m.lab", "0=\"init\" 1=goal\n")]).unwrap_err(),
        prism([("m.lab", "0=\"init\"\n0: 1\n")]).unwrap_err(),
        prism([("m.lab", "0=\"init\"\n7: 0\n")]).unwrap_err(),
        prism([("m.lab", "0=\"goal\"\n0: 0\n")]).unwrap_err(),
        prism([("m.sta", "(s)\n0:(0)\n1:(1,2)\n")]).unwrap_err(),
        prism([("m.sta", "(s)\n0:(0)\n")]).unwrap_err(),
        prism([("m.srew", "4 1\n0 1\n")]).unwrap_err(),
        prism([("m.srew", "3 2\n0 1\n")]).unwrap_err(),
        prism([("m.srew", "3 0\n0 1\n")]).unwrap_err(),
        prism([("m.trew", "3 4 1\n1 0 0 1\n")]).unwrap_err(),
        prism([("m.srew", "3 0\n"), ("m1.srew", "3 0\n")]).unwrap_err(),
    ];
    insta::assert_snapshot!(mistakes.join("\n"));
}

/// The archive of a model, unpacked.
fn archive() -> Vec<u8> {
    let model = read("door.drn", door()).unwrap();
    let mut archive = Vec::new();
    let packed = encode(&model, "door.umb").unwrap();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&packed[..]), &mut archive).unwrap();
    archive
}

/// The model of an archive after a change to it.
fn umb(change: impl FnOnce(&mut Vec<u8>)) -> Result<ExplicitModel, String> {
    let mut archive = archive();
    change(&mut archive);
    read("door.umb", archive)
}

/// Where the file of an archive begins.
fn place(archive: &[u8], name: &str) -> usize {
    let header = archive.chunks(512).position(|block| block.starts_with(format!("{name}\0").as_bytes()));
    512 * header.unwrap_or_else(|| panic!("no {name}"))
}

/// Replaces text of the same length.
fn replace(archive: &mut [u8], from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    let place = archive.windows(from.len()).position(|bytes| bytes == from.as_bytes()).unwrap();
    archive[place..place + to.len()].copy_from_slice(to.as_bytes());
}

#[test]
fn mistakes_in_umb_are_shown_where_they_stand() {
    let at = |name: &'static str, offset: usize, bytes: Vec<u8>| {
        umb(move |archive| {
            let place = place(archive, name) + 512 + offset;
            archive[place..place + bytes.len()].copy_from_slice(&bytes);
        })
        .unwrap_err()
    };
    let in_index =
        |from: &'static str, to: &'static str| umb(|archive| replace(archive, from, to)).unwrap_err();
    let word = |number: u64| number.to_le_bytes().to_vec();
    let mistakes = [
        at("branch-to-target.bin", 8, word(4)),
        at("branch-to-probability.bin", 8, 0.25f64.to_le_bytes().to_vec()),
        at("branch-to-probability.bin", 8, f64::NAN.to_le_bytes().to_vec()),
        at("branch-to-probability.bin", 8, (-1.0f64).to_le_bytes().to_vec()),
        at("state-to-choices.bin", 8, word(9)),
        at("state-to-choices.bin", 0, word(1)),
        at("state-to-choices.bin", 32, word(4)),
        at("choice-to-branches.bin", 16, word(0)),
        at("state-is-initial.bin", 0, word(16)),
        at("actions/choices/values.bin", 0, vec![9, 0, 0, 0]),
        at("actions/choices/string-mapping.bin", 8, word(1 << 40)),
        in_index("\"#states\": 4", "\"#states\": 5"),
        in_index("\"#states\": 4", "\"#states\": 0"),
        in_index("\"#states\": 4", "\"#steets\": 4"),
        in_index("\"#branches\": 7", "\"#branches\": 6"),
        in_index("\"#players\": 1", "\"#players\": 2"),
        in_index("\"#observations\": 0", "\"#observations\": 3"),
        in_index("\"discrete\"", "\"stochas.\""),
        in_index("\"format-version\": 1", "\"format-version\": 2"),
        in_index("\"double\"", "\"dooble\""),
        in_index("\"format-revision\"", "\"format-revision\u{0}"),
        umb(|archive| archive.truncate(700)).unwrap_err(),
        umb(|archive| archive.truncate(place(archive, "branch-to-target.bin") + 520)).unwrap_err(),
        umb(|archive| archive.truncate(place(archive, "branch-to-target.bin") + 100)).unwrap_err(),
        umb(|archive| {
            let place = place(archive, "branch-to-target.bin");
            archive[place + 3] ^= 1;
        })
        .unwrap_err(),
        umb(|archive| resize(archive, "branch-to-target.bin", "00000000007\0")).unwrap_err(),
        umb(|archive| resize(archive, "strings.bin", "77777777777\0")).unwrap_err(),
        umb(|archive| resize(archive, "index.json", "77777777777\0")).unwrap_err(),
        umb(|archive| drop(archive.drain(..place(archive, "state-to-choices.bin")))).unwrap_err(),
        read("door.umb", "neither gzip nor tar").unwrap_err(),
        read("door.umb", "").unwrap_err(),
        read("door.umb", &packed(&[0; 512])[..20]).unwrap_err(),
    ];
    insta::assert_snapshot!(mistakes.join("\n"));
}

/// A header that lies about the size of its file, with a sum that is right.
fn resize(archive: &mut [u8], name: &str, size: &str) {
    let name = if name == "strings.bin" { "actions/choices/strings.bin" } else { name };
    let place = place(archive, name);
    let header = &mut archive[place..place + 512];
    header[124..136].copy_from_slice(size.as_bytes());
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

/// Models with more transitions than fit into memory are the same, and are planned in with the same bits.
#[test]
fn a_model_in_files_is_the_same() {
    let size = garnet::Size { states: 200, actions: 3, branching: 4, measures: 2 };
    let worlds = [mars_rover::world("8x8", 0.05), garnet::world(size, &mut random::generator(1))];
    for (world, gammas) in worlds.into_iter().zip([&[0.99, 1.0][..], &[0.99]]) {
        let umb = encode(&ExplicitModel::of_world(&world.unwrap().model).unwrap(), "world.umb").unwrap();
        let read = |transitions: u64| {
            let limits = Limits { transitions, ..LIMITS };
            read_from(&files([("world.umb", umb.clone())]), "world.umb", &limits).unwrap()
        };
        let (plain, in_file) = (read(1 << 20), read(10));
        assert_eq!(plain, in_file);
        assert_eq!(plain.checksum(), in_file.checksum());
        assert_eq!(encode(&in_file, "again.umb").unwrap(), umb);
        let worlds = [plain, in_file].map(|model| model.world(&Asked::default()).unwrap());
        assert_eq!(worlds.each_ref().map(|world| world.is_in_file()), [false, cfg!(unix)]);
        let lam: Vec<f64> = (0..worlds[0].measures().dim()).map(|i| 1.0 + 0.1 * i as f64).collect();
        for gamma in gammas {
            let discounting = Discounting::new(*gamma, None).unwrap();
            let [plain, in_file] = worlds.each_ref().map(|world| {
                let mut exact = Exact::new(world.clone(), discounting, Planner::PolicyIteration).unwrap();
                let answer = exact.respond(&lam, 0.0).unwrap();
                (answer.z_hat, answer.bound)
            });
            assert_eq!(plain, in_file);
        }
    }
}

/// Transitions that never happen are left out of files, too.
#[test]
fn what_never_happens_is_left_out_of_files() {
    let umb = |parts: [f64; 2]| {
        let mut archive = archive();
        let place = place(&archive, "branch-to-probability.bin") + 512;
        for (i, part) in parts.iter().enumerate() {
            archive[place + 8 * i..][..8].copy_from_slice(&part.to_le_bytes());
        }
        archive
    };
    let limits = Limits { transitions: 0, ..LIMITS };
    let read = |bytes: Vec<u8>| read_from(&files([("door.umb", bytes)]), "door.umb", &limits);
    let model = read(umb([1.0, 0.0])).unwrap();
    assert_eq!((model.transitions(), model.transitions_of(0), &model.targets()[..2]), (6, 0..1, &[1, 1][..]));
    let error = read(umb([0.75, 0.5])).unwrap_err().to_string();
    assert!(error.contains("state 0, action 0 add up to 1.25; expected 1"), "{error}");
}

/// Text that says nothing, or too much, packed a thousand times.
#[test]
fn a_file_that_unpacks_to_more_than_memory_is_refused() {
    let limits = Limits { unpacked: 1 << 20, ..LIMITS };
    let comment = "// nothing\n".repeat(1 << 18);
    let long = "0".repeat(1 << 22);
    for (name, text) in [("bomb.drn", &comment), ("bomb.drn", &long), ("bomb.umb", &long)] {
        let bytes = packed(text.as_bytes());
        assert!(bytes.len() < 20_000);
        let error = read_from(&files([(name, bytes)]), name, &limits).unwrap_err().to_string();
        let is_refused =
            error.contains("unpacks to more than the 1 MiB of memory") || error.contains("no header");
        assert!(is_refused || error.contains("longer than"), "{error}");
    }
}

/// Files that promise more than they hold take no memory for it.
#[test]
fn sizes_that_are_only_promised_take_no_memory() {
    let promises = [
        (
            "m.drn",
            "@type: MDP\n@nr_states\n4000000000\n@nr_choices\n4000000000\n@model\nstate 0 init\n".to_owned(),
        ),
        ("m.tra", "4000000000 4000000000 4000000000\n0 0 0 1\n".to_owned()),
        ("m.tra", "4000000000 1\n0 0 1\n".to_owned()),
    ];
    for (name, text) in promises {
        let error = read(name, text).unwrap_err();
        assert!(error.contains("cut short") || error.contains("no transitions"), "{error}");
    }
    // Variables that each stand in one state only.
    let states: String =
        (0..20_000).map(|s| format!("state {s} init\n//[v{s}=1]\n\taction 0\n\t\t{s} : 1\n")).collect();
    let text = format!("@type: MDP\n@nr_states\n20000\n@model\n{states}");
    assert!(read("m.drn", text).unwrap().valuations().is_none());
}
