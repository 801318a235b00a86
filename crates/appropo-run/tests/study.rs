//! Who works on the runs of a study: clocks are passed in, and no test waits.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use appropo_run::Error;
use appropo_run::study::{Claim, Drawer, Drawn, Machine, Patience, Planned, RunName, State, Study};

const EXPIRE: Duration = Duration::from_secs(60);

fn place(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("studies").join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn planned(seed: u64) -> Planned {
    Planned { problem: "rover".into(), method: "appropo:ppo".into(), seed, text: "discount = 0.9\n".into() }
}

fn study(folder: &Path, runs: u64) -> (Study, Vec<RunName>) {
    let study = Study::create(folder).unwrap();
    (0..runs).for_each(|seed| study.add(&planned(seed)).unwrap());
    (study, (0..runs).map(|seed| planned(seed).name()).collect())
}

fn drawer<'a>(study: &'a Study, names: &[RunName], machine: &str, clock: fn() -> Duration) -> Drawer<'a> {
    Drawer::new(study, names.to_vec(), Machine::named(machine), patience(), clock).unwrap()
}

fn patience() -> Patience {
    Patience { expire_after: EXPIRE, attempts: 3, retry: false }
}

thread_local! { static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) } }

fn clock() -> Duration {
    NOW.get()
}

/// Looks for a run every ten seconds for so long.
fn after(drawer: &mut Drawer, seconds: u64) -> Drawn {
    for _ in 0..seconds / 10 {
        match drawer.draw().unwrap() {
            Drawn::Wait => NOW.set(NOW.get() + Duration::from_secs(10)),
            next => return next,
        }
    }
    drawer.draw().unwrap()
}

fn claimed(next: Drawn) -> Claim {
    match next {
        Drawn::Claimed(_, claim) => *claim,
        other => panic!("{other:?}"),
    }
}

/// What a solve leaves behind, as far as claims look at it.
fn work(claim: &Claim, by: &str) {
    fs::create_dir_all(claim.folder()).unwrap();
    fs::write(claim.folder().join("run.json"), by).unwrap();
    fs::write(claim.folder().join("result.json"), by).unwrap();
}

#[test]
fn names_are_folders() {
    let name = |problem| RunName::new(problem, "appropo:ppo", 7).to_string();
    assert_eq!(name("ALE/Pong-v5"), "ALE-Pong-v5/appropo-ppo/7");
    assert_eq!(name(".."), "-./appropo-ppo/7");
    assert_eq!(name(".study"), "-study/appropo-ppo/7");
    assert_eq!(name(""), "-/appropo-ppo/7");
}

#[test]
fn plans_are_written_once() {
    let folder = place("plans");
    assert!(matches!(Study::open(&folder), Err(Error::NoStudy { .. })));
    let (study, names) = study(&folder, 3);
    study.add(&planned(1)).unwrap();
    let other = Planned { text: "discount = 0.8\n".into(), ..planned(1) };
    assert!(matches!(study.add(&other), Err(Error::OtherSettings { .. })));
    let found: Vec<RunName> = study.planned().unwrap().iter().map(Planned::name).collect();
    assert_eq!(found, names);
    assert_eq!(study.state(&names[1]).unwrap(), State::Waiting);
    fs::remove_dir_all(folder).unwrap();
}

/// A claim holds while it is renewed, whatever the clocks of others say, and is taken over once it is not.
#[test]
fn a_claim_that_is_not_renewed_expires() {
    let folder = place("expiry");
    let (study, names) = study(&folder, 1);
    let (mut ours, mut theirs) = (drawer(&study, &names, "a", clock), drawer(&study, &names, "b", clock));
    let slow = claimed(ours.draw().unwrap());
    assert_eq!(study.state(&names[0]).unwrap(), State::Running);
    for _ in 0..20 {
        assert!(matches!(after(&mut theirs, 40), Drawn::Wait));
        slow.renew().unwrap();
    }
    assert!(!slow.is_lost());
    let next = claimed(after(&mut theirs, 80));
    assert!(slow.is_lost() && !next.is_lost());
    // Both come to the end: the one that holds the claim is the one that counts.
    work(&slow, "slow");
    work(&next, "next");
    assert!(!slow.finish().unwrap());
    assert!(!slow.fail("too late").unwrap());
    assert!(next.finish().unwrap());
    assert_eq!(fs::read(study.place(&names[0]).join("result.json")).unwrap(), b"next");
    assert_eq!(study.state(&names[0]).unwrap(), State::Done);
    // As one leaves it that was killed right after the rename.
    fs::create_dir_all(slow.folder()).unwrap();
    assert!(matches!(ours.draw().unwrap(), Drawn::Over));
    assert!(matches!(theirs.draw().unwrap(), Drawn::Over));
    assert!(!slow.folder().exists() && !next.folder().exists(), "nothing is left but the run in its place");
    fs::remove_dir_all(folder).unwrap();
}

/// A process that was stopped for long, as when a laptop sleeps, does not take the others for dead when it wakes up.
#[test]
fn a_long_sleep_is_no_proof_of_death() {
    let folder = place("sleep");
    let (study, names) = study(&folder, 1);
    let owner = claimed(drawer(&study, &names, "a", clock).draw().unwrap());
    let mut other = drawer(&study, &names, "b", clock);
    assert!(matches!(other.draw().unwrap(), Drawn::Wait));
    NOW.set(NOW.get() + 100 * EXPIRE);
    assert!(matches!(other.draw().unwrap(), Drawn::Wait));
    owner.renew().unwrap();
    assert!(matches!(after(&mut other, 50), Drawn::Wait));
    fs::remove_dir_all(folder).unwrap();
}

/// Where the check of the claim is passed before another takes over, the rename decides.
#[test]
fn the_first_result_stays() {
    let folder = place("first");
    let (study, names) = study(&folder, 1);
    let claim = claimed(drawer(&study, &names, "a", clock).draw().unwrap());
    work(&claim, "second");
    let done = study.place(&names[0]);
    fs::create_dir_all(&done).unwrap();
    // Another finished, which this owner does not see yet: its result has not come through.
    fs::write(done.join("run.json"), "first").unwrap();
    assert!(claim.finish().is_err());
    fs::write(done.join("result.json"), "first").unwrap();
    assert!(!claim.finish().unwrap());
    assert_eq!(fs::read(done.join("result.json")).unwrap(), b"first");
    fs::remove_dir_all(folder).unwrap();
}

/// A dead process of the same machine is known to be dead: the system has let go of its lock.
#[test]
fn the_dead_of_this_machine_are_not_waited_for() {
    let folder = place("dead");
    let (study, names) = study(&folder, 1);
    let (mut here, mut there) = (drawer(&study, &names, "a", clock), drawer(&study, &names, "b", clock));
    let alive = claimed(here.draw().unwrap());
    assert!(matches!(here.draw().unwrap(), Drawn::Wait));
    drop(alive);
    assert!(matches!(there.draw().unwrap(), Drawn::Wait), "another machine can't tell");
    assert_eq!(claimed(here.draw().unwrap()).number(), 2);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_given_back_is_free() {
    let folder = place("release");
    let (study, names) = study(&folder, 2);
    let (mut ours, mut theirs) = (drawer(&study, &names, "a", clock), drawer(&study, &names, "b", clock));
    for _ in 0..10 {
        let claim = claimed(ours.draw().unwrap());
        claim.release().unwrap();
    }
    // Stopping on request is no sign of trouble, however often.
    let numbers = [claimed(theirs.draw().unwrap()).number(), claimed(theirs.draw().unwrap()).number()];
    assert_eq!(numbers.iter().sum::<u32>(), 12);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn failures_are_kept_and_tried_again_only_on_request() {
    let folder = place("failures");
    let (study, names) = study(&folder, 1);
    let mut ours = drawer(&study, &names, "a", clock);
    assert!(claimed(ours.draw().unwrap()).fail("the world broke").unwrap());
    assert_eq!(study.state(&names[0]).unwrap(), State::Failed("the world broke".into()));
    assert!(matches!(ours.draw().unwrap(), Drawn::Over));
    let again = Patience { retry: true, ..patience() };
    let drawing = || Drawer::new(&study, names.clone(), Machine::named("a"), again, clock).unwrap();
    let (mut one, mut two) = (drawing(), drawing());
    let claim = claimed(one.draw().unwrap());
    assert_eq!(study.state(&names[0]).unwrap(), State::Running);
    assert!(matches!(two.draw().unwrap(), Drawn::Wait));
    assert!(claim.fail("again").unwrap());
    // Only what had failed before is tried, and once.
    assert!(matches!(one.draw().unwrap(), Drawn::Over));
    assert!(matches!(two.draw().unwrap(), Drawn::Over));
    fs::remove_dir_all(folder).unwrap();
}

/// A run that takes its process with it is given up, unless it gets further each time.
#[test]
fn a_run_that_kills_its_process_is_not_tried_for_ever() {
    let folder = place("stalled");
    let (study, names) = study(&folder, 1);
    let mut drawer = drawer(&study, &names, "a", clock);
    for step in 0..20 {
        let claim = claimed(drawer.draw().unwrap());
        fs::create_dir_all(claim.folder()).unwrap();
        fs::write(claim.folder().join("run.json"), "").unwrap();
        fs::write(claim.folder().join("checkpoint"), format!("step {step}")).unwrap();
    }
    for _ in 0..3 {
        let claim = claimed(drawer.draw().unwrap());
        assert_eq!(study.state(&names[0]).unwrap(), State::Running, "{}", claim.number());
    }
    assert!(matches!(drawer.draw().unwrap(), Drawn::Wait | Drawn::Over));
    let State::Failed(error) = study.state(&names[0]).unwrap() else { panic!("it goes on for ever") };
    assert!(error.contains("without getting any further"), "{error}");
    fs::remove_dir_all(folder).unwrap();
}

/// Many machines at once: each run is claimed by one of them.
#[test]
fn each_run_is_drawn_once() {
    let folder = place("many");
    let (study, names) = study(&folder, 40);
    let draw = |machine: usize| {
        let mut drawer = drawer(&study, &names, &machine.to_string(), || Duration::ZERO);
        let mut drawn = Vec::new();
        while let Drawn::Claimed(i, claim) = drawer.draw().unwrap() {
            work(&claim, &machine.to_string());
            assert!(claim.finish().unwrap());
            drawn.push(i);
        }
        drawn
    };
    let mut drawn: Vec<usize> = std::thread::scope(|scope| {
        let machines: Vec<_> = (0..4).map(|machine| scope.spawn(move || draw(machine))).collect();
        machines.into_iter().flat_map(|machine| machine.join().unwrap()).collect()
    });
    drawn.sort_unstable();
    assert!(drawn.iter().copied().eq(0..40), "{drawn:?}");
    assert!(names.iter().all(|name| study.state(name).unwrap() == State::Done));
    fs::remove_dir_all(folder).unwrap();
}
