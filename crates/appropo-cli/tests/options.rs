//! Every option of every player, oracle and learner: in the file, on the command line, and in what is explained.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use appropo::options::{Key, Kind};
use appropo::registry::Registry;

fn appropo(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_appropo")).args(arguments).output().unwrap()
}

fn explained(arguments: &[&str]) -> String {
    let output = appropo(&[&["check"], arguments, &["--explain"]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What is said about a mistake.
fn refused(arguments: &[&str]) -> String {
    let output = appropo(&[&["check"], arguments].concat());
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

const PROBLEM: &str = "discount = 0.99\n[environment]\nname = \"mars-rover\"\nmap = \"4x4\"\n\
                       [[constraint]]\nmeasure = \"failure\"\nat_most = 0.3\n[solve]\n";

/// The same with logs in place of a world.
const LOGGED: &str = "discount = 0.99\n[environment]\ndataset = \"log.csv\"\n\n\
                      [[constraint]]\nmeasure = \"failure\"\nat_most = 0.3\n[solve]\n";
const LOG: &str =
    "episode,step,observation,action,failure,next_observation,terminated,truncated\n0,0,0,0,1,1,true,false\n";

fn written(name: &str, solve: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("options");
    fs::create_dir_all(&folder).unwrap();
    // Tests run side by side, and none may find it half written.
    static LOGGING: std::sync::Once = std::sync::Once::new();
    LOGGING.call_once(|| fs::write(folder.join("log.csv"), LOG).unwrap());
    let problem = if solve.contains("method = \"batch\"") { LOGGED } else { PROBLEM };
    let path = folder.join(format!("{name}.toml"));
    fs::write(&path, format!("{problem}{solve}")).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Who has to play for the options of a table to be in force. A margin is kept only where the oracle learns.
fn choices(table: &str) -> Vec<(&'static str, &str)> {
    let registry = Registry::standard();
    if registry.players().iter().any(|entry| entry.name == table) {
        vec![("oracle", "q-learning"), ("player", table)]
    } else if registry.oracles().iter().any(|(name, ..)| *name == table) {
        vec![("oracle", table)]
    } else if registry.methods().iter().any(|entry| entry.name == table) {
        vec![("method", table)]
    } else {
        vec![("oracle", "ppo")]
    }
}

/// A value that is not the default, as it is written out.
fn another(key: &Key) -> String {
    let is_default = |text: &str| key.default() == Some(text);
    let found = match &key.kind {
        _ if !is_default(key.example) => key.example.to_owned(),
        Kind::Number(range) => {
            let mut numbers = [0.5, 0.25, 2.0].into_iter().filter(|number| range.contains(*number));
            numbers.find(|number| !is_default(&number.to_string())).unwrap().to_string()
        }
        Kind::Count(least, _) => {
            if is_default(&(least + 2).to_string()) { least + 3 } else { least + 2 }.to_string()
        }
        Kind::Counts(..) => "[3, 2]".to_owned(),
        Kind::Flag => (key.example != "true").to_string(),
        Kind::Word(words) => {
            let mut words = words.iter().map(|(word, _)| format!("\"{word}\""));
            words.find(|word| !is_default(word)).unwrap()
        }
        kind => panic!("{}: a new kind of option, {kind:?}", key.name),
    };
    assert!(!is_default(&found), "{}", key.name);
    found
}

/// Values that may not stand at a key, and what is said of each besides the key.
fn wrong(key: &Key) -> Vec<(&'static str, &'static str, String)> {
    let text = ("\"far\"", "found the text \"far\"");
    match &key.kind {
        Kind::Number(range) => vec![
            (text.0, text.1, "expected a number".into()),
            ("[1, 2]", "found an array", "expected a number".into()),
            ("nan", "found NaN", "expected a finite number".into()),
            ("-1e9", "found -1000000000", format!("expected {}", range.words)),
        ]
        .into_iter()
        .filter(|(value, ..)| *value != "-1e9" || !range.contains(-1e9))
        .collect(),
        Kind::Count(least, _) => vec![
            (text.0, text.1, format!("expected a whole number, {least} or more")),
            ("1.5", "found the number 1.5", format!("expected a whole number, {least} or more")),
            ("-1", "found the number -1", format!("expected a whole number, {least} or more")),
        ],
        Kind::Counts(least, _) => vec![
            ("[]", "the array is empty", "write one entry or more".into()),
            ("3", "found the number 3", "expected an array".into()),
            ("[3, 0]", "found the number 0", format!("expected a whole number, {least} or more")),
        ],
        Kind::Flag => vec![(text.0, text.1, "expected true or false".into())],
        Kind::Word(words) => {
            let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            vec![
                (
                    "\"something-else\"",
                    "\"something-else\" is not known",
                    format!("write one of {}", all.join(", ")),
                ),
                ("7", "found the number 7", "expected a text in quotation marks".into()),
            ]
        }
        Kind::Measurements => vec![
            ("3", "found the number 3", "expected a table in braces".into()),
            ("{ failures = 1 }", "no such measure", "did you mean \"failure\"?".into()),
            ("{ failure = [1, 2] }", "found 2 numbers", "expected 1".into()),
            ("{ failure = true }", "found true", "expected a number".into()),
        ],
        kind => panic!("{}: a new kind of option, {kind:?}", key.name),
    }
}

#[test]
fn every_option_can_be_set_in_the_file_and_on_the_command_line() {
    for (table, _, keys) in Registry::standard().option_tables() {
        let choices = choices(table);
        let plain = written("plain", if table == "batch" { "method = \"batch\"\n" } else { "" });
        // Files and their checksums have tests of their own.
        for key in keys.iter().filter(|key| !matches!(key.kind, Kind::Name)) {
            let value = another(key);
            let chosen: String = choices.iter().map(|(key, word)| format!("{key} = \"{word}\"\n")).collect();
            let file = written("set", &format!("{chosen}[solve.{table}]\n{} = {value}\n", key.name));
            let in_file = explained(&[&file]);
            let set: Vec<String> = choices.iter().map(|(key, word)| format!("--set={key}={word}")).collect();
            let option = format!("--set={table}.{}={value}", key.name);
            let arguments: Vec<&str> =
                [plain.as_str()].into_iter().chain(set.iter().map(String::as_str)).collect();
            let by_set = explained(&[&arguments[..], &[&option]].concat());
            assert_eq!(in_file, by_set, "{table}.{}", key.name);
            let options =
                by_set.split(&format!("[solve.{table}]\n")).nth(1).unwrap_or_else(|| panic!("{by_set}"));
            let mut lines = options.lines().take_while(|line| !line.is_empty());
            let is_stated = lines.any(|line| {
                line.strip_suffix("  # default").unwrap_or(line) == format!("{} = {value}", key.name)
            });
            assert!(is_stated, "{table}.{} = {value}:\n{by_set}", key.name);
            // What is set in place of something wins.
            let over = explained(&[&file, &option]);
            assert_eq!(over, in_file, "{table}.{}", key.name);
        }
    }
}

#[test]
fn every_default_is_explained_and_may_be_written_out() {
    for (table, _, keys) in Registry::standard().option_tables() {
        let chosen: String =
            choices(table).iter().map(|(key, word)| format!("{key} = \"{word}\"\n")).collect();
        let by_default = explained(&[&written("default", &chosen)]);
        let stated = keys.iter().filter_map(|key| Some(format!("{} = {}\n", key.name, key.default()?)));
        let stated: String = stated.collect();
        let written = explained(&[&written("stated", &format!("{chosen}[solve.{table}]\n{stated}"))]);
        assert_eq!(by_default, written, "{table}");
        for key in keys.iter().filter(|key| key.default().is_some()) {
            let line = format!("{} = {}  # default\n", key.name, key.default().unwrap());
            assert!(by_default.contains(&line), "{table}: {line}{by_default}");
        }
    }
}

/// The key with what was found and what was expected, at its place in a file, and by its full name where there is none.
#[test]
fn wrong_values_are_named_with_what_was_expected() {
    let plain = written("unset", "");
    for (table, _, keys) in Registry::standard().option_tables() {
        for key in keys.iter().filter(|key| !matches!(key.kind, Kind::Name)) {
            let good = written("good", &format!("[solve.{table}]\n{} = {}\n", key.name, another(key)));
            for (value, found, expected) in wrong(key) {
                let file = written("wrong", &format!("[solve.{table}]\n{} = {value}\n", key.name));
                let said = refused(&[&file]);
                let is_named = said.contains(&format!("{}: ", key.name)) || said.contains("failure");
                assert!(is_named && said.contains(found) && said.contains(&expected), "{table}: {said}");
                let line = format!("10 | {} = {value}\n", key.name);
                assert!(
                    said.contains(":10:") && said.contains(&line) && said.contains('^'),
                    "{table}: {said}"
                );
                // By --set there is no place to show, also if a good value stands in the file.
                let option = format!("--set={table}.{}={value}", key.name);
                for file in [&plain, &good] {
                    let said = refused(&[file, &option]);
                    let name = format!("error: {table}.{}", key.name);
                    assert!(said.starts_with(&name), "{option}: {said}");
                    assert!(
                        said.contains(found) && said.contains(&expected) && !said.contains('^'),
                        "{said}"
                    );
                }
            }
        }
        let key = keys[0].name;
        let misspelt = format!("{key}x");
        let said = refused(&[&written("misspelt", &format!("[solve.{table}]\n{misspelt} = 1\n"))]);
        let expected = format!("unknown key \"{misspelt}\"; did you mean \"{key}\"?");
        assert!(said.contains(&expected) && said.contains(":10:1:"), "{said}");
        let said = refused(&[&plain, &format!("--set={table}.{misspelt}=1")]);
        assert_eq!(said, format!("error: {table}: {expected}\n"));
    }
}

#[test]
fn what_set_does_not_understand_is_refused() {
    let plain = written("sets", "");
    for (option, expected) in [
        ("kappa", "expected KEY=VALUE, such as ppo.learning_rate=3e-4"),
        ("ogd..kappa=1", "a part of the key is empty"),
        ("kapa=1", "unknown key \"kapa\""),
        ("od.kappa=1", "unknown key \"od\"; did you mean \"ogd\"?"),
        ("ogd=1", "ogd: found the number 1; expected a table in braces"),
        ("player=odg", "player: \"odg\" is not known here; did you mean \"ogd\"?"),
        ("tolerance=0", "tolerance: found 0; expected a number above 0"),
    ] {
        let said = refused(&[&plain, &format!("--set={option}")]);
        assert!(said.contains(expected), "{option}: {said}");
    }
    // A text needs no quotation marks.
    let [bare, quoted] = ["player=ogd", "player=\"ogd\""].map(|set| explained(&[&plain, "--set", set]));
    assert_eq!(bare, quoted);
}

/// The keys that said how to solve before they were options of someone.
#[test]
fn keys_that_moved_are_not_taken_for_others() {
    for key in [
        "kappa = 2",
        "eta = 0.1",
        "steps = \"constant\"",
        "caution = 1",
        "anchor = {}",
        "planner = \"policy-iteration\"",
    ] {
        let said = refused(&[&written("moved", &format!("{key}\n"))]);
        let name = key.split(' ').next().unwrap();
        assert!(said.contains(&format!("unknown key \"{name}\"")) && said.contains(":9:1:"), "{said}");
    }
}
