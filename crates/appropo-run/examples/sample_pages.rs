//! Pages of made-up but plausible runs, for looking at and for the browser test: `sample_pages FOLDER`.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use appropo_run::page::{Constraint, Grid, Measure, Outline, Page, Part, Rounds, render};

const MAP: [&str; 8] =
    ["SFFFFFFF", "FFFFFFFF", "FFFHFFHF", "FFFFFFFF", "FFFFFFFF", "FHHFFFFF", "FHFFHFHF", "FFFHFFFG"];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args().nth(1).ok_or("usage: sample_pages FOLDER")?;
    fs::create_dir_all(&folder)?;
    let learnt = |seed| Page { name: format!("mars-rover, seed {seed}"), ..rover(150, seed, 1.0) };
    let slow = Page {
        name: "mars-rover, ogd".into(),
        verdict: "undecided".into(),
        sentence: "The budget of 220 rounds ended at distance 0.039.".into(),
        distance: 0.039,
        ..rover(220, 3, 0.25)
    };
    let pages = [
        ("rover", vec![rover(150, 0, 1.0)]),
        ("infeasible", vec![infeasible()]),
        ("one_round", vec![one_round()]),
        ("long", vec![long(14)]),
        ("wide", vec![Page { name: "wide".into(), grid: Some(cliff()), ..long(66) }]),
        ("empty", vec![Page { name: "</script><b>empty</b> & \u{2028}".into(), ..Page::default() }]),
        ("comparison", vec![learnt(1), learnt(2), slow]),
    ];
    for (name, runs) in pages {
        let path = Path::new(&folder).join(name);
        fs::write(path.with_extension("html"), render(&runs))?;
        // What the pages must show, for the test to read.
        fs::write(path.with_extension("json"), serde_json::to_string(&runs)?)?;
    }
    Ok(())
}

/// Numbers in [-1, 1] that look random and are the same everywhere.
fn noise(seed: u64, t: usize) -> f64 {
    let mut x = (seed << 32) ^ (t as u64) ^ 0x9e37_79b9_7f4a_7c15;
    for _ in 0..3 {
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^= x >> 27;
    }
    (x >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

fn problem(failure: f64, reward: f64) -> String {
    format!(
        "discount = 0.99\n\n[environment]\nname = \"mars-rover\"\nmap = \"8x8\"\nslip = 0.05\nhorizon = 300\n\n\
         [[constraint]]\nname = \"safety\"\nmeasure = \"failure\"\nat_most = {failure}\n\n\
         [[constraint]]\nname = \"speed\"\nmeasure = \"reward\"\nat_least = {reward}\n"
    )
}

fn measures(failure: (f64, f64), reward: (f64, f64), interval: f64) -> Vec<Measure> {
    let around = |value: f64| (interval > 0.0).then_some([value - interval, value + interval]);
    vec![
        Measure {
            name: "failure".into(),
            value: failure.0,
            interval: around(failure.0),
            upper: Some(failure.1),
            ..Measure::default()
        },
        Measure {
            name: "reward".into(),
            value: reward.0,
            interval: around(reward.0),
            lower: Some(reward.1),
            ..Measure::default()
        },
    ]
}

/// The rows that belong to failure at most and reward at least so much.
fn constraints(measures: &[Measure]) -> Vec<Constraint> {
    let row = |name: &str, measure: &Measure| {
        let (required, slack) = match (measure.lower, measure.upper) {
            (Some(lower), _) => (format!("at least {lower}"), measure.value - lower),
            (_, Some(upper)) => (format!("at most {upper}"), upper - measure.value),
            _ => ("anything".into(), f64::INFINITY),
        };
        Constraint {
            name: name.into(),
            measure: measure.name.clone(),
            value: format!("{:.4}", measure.value),
            required,
            slack: format!("{slack:.4}"),
            interval: measure.interval,
            holds: slack >= 0.0,
        }
    };
    measures.iter().zip(["safety", "speed", "visits"]).map(|(measure, name)| row(name, measure)).collect()
}

fn quadrant(failure: f64, reward: f64) -> Vec<Outline> {
    vec![Outline { x: 0, y: 1, outline: vec![[0.0, reward], [failure, reward], [failure, 0.0], [0.0, 0.0]] }]
}

/// A learnt run on the 8×8 rover: noisy first, then close to its thresholds.
fn rover(count: usize, seed: u64, speed: f64) -> Page {
    let mut rounds = Rounds { z: vec![vec![]; 2], lam: vec![vec![]; 2], ..Rounds::default() };
    for t in 1..=count {
        let fade = (-(t as f64) * speed / 22.0).exp();
        let wobble = 0.012 * noise(seed, t) / (t as f64).sqrt();
        let failure = 0.187 + 0.62 * fade + wobble;
        let reward = -0.166 - 0.11 * fade * (1.0 - 0.5 * fade) + wobble / 3.0;
        let (above, below) = ((failure - 0.2_f64).max(0.0), (-0.17 - reward).max(0.0));
        let distance = above.hypot(below);
        let norm = distance.max(1e-9);
        rounds.round.push(t);
        rounds.samples.push(t as u64 * 1_840 + (300.0 * noise(seed + 9, t)) as u64);
        rounds.distance.push(distance);
        rounds.lower_bound.push(0.0);
        rounds.z[0].push(failure);
        rounds.z[1].push(reward);
        rounds.lam[0].push(above / norm);
        rounds.lam[1].push(-below / norm);
    }
    let measures = measures((0.1874, 0.2), (-0.16583, -0.17), 0.0029);
    let samples = rounds.samples.last().copied().unwrap_or(0);
    let weights = [0.41, 0.27, 0.18, 0.09, 0.05];
    let part = |(k, weight): (usize, &f64)| Part {
        weight: *weight,
        kind: "network".into(),
        z: vec![0.12 + 0.07 * k as f64, -0.172 + 0.012 * k as f64],
    };
    Page {
        objective: None,
        group: String::new(),
        nearest: String::new(),
        name: "mars-rover".into(),
        verdict: "feasible".into(),
        sentence: "Both constraints hold with 95 % confidence: failure 0.187 (at most 0.2) and reward -0.166 (at least -0.17), from 20,000 fresh episodes.".into(),
        version: "appropo 0.2.0".into(),
        seed,
        command: format!("appropo solve mars-rover.toml --oracle a2c --seed {seed}"),
        problem: problem(0.2, -0.17),
        samples,
        evaluation_samples: 412_384,
        oracle_calls: count,
        distance: 0.0,
        lower_bound: 0.0,
        tolerance: 1e-3,
        confidence: Some(0.95),
        is_logged: false,
        constraints: constraints(&measures),
        measures,
        rounds,
        sets: quadrant(0.2, -0.17),
        grid: Some(grid()),
        mixture: weights.iter().enumerate().map(part).collect(),
        times: vec![
            ("oracle".into(), 8.42),
            ("player".into(), 0.031),
            ("evaluation".into(), 1.27),
            ("writing".into(), 0.012),
        ],
    }
}

/// Visits along the way from the start in the upper left to the goal in the lower right.
fn grid() -> Grid {
    let cells = MAP.concat();
    let visit = |(cell, letter): (usize, char)| {
        let (row, column) = ((cell / 8) as f64, (cell % 8) as f64);
        let aside = (column - row - 1.6) / 2.2;
        match letter {
            'H' => 0.03 * (-aside * aside).exp(),
            'S' => 1.21,
            _ => 0.9 * (-aside * aside).exp() * (1.0 - 0.05 * (row + column)),
        }
    };
    let visits = cells.chars().enumerate().map(visit).collect();
    Grid { rows: 8, columns: 8, cells, visits }
}

/// Exact planning for thresholds that no policy meets: bounds that close in on the true distance.
fn infeasible() -> Page {
    let rounds = Rounds {
        objective: Vec::new(),
        round: (1..=7).collect(),
        samples: vec![0; 7],
        distance: vec![0.9393, 0.0871, 0.0212, 0.00731, 0.00488, 0.00460302, 0.00460232],
        lower_bound: vec![f64::NEG_INFINITY, 0.0, 0.00112, 0.00391, 0.00455, 0.00460229, 0.00460232],
        z: vec![
            vec![0.9583, 0.0931, 0.0371, 0.0260, 0.02341, 0.022441, 0.02244],
            vec![-0.0417, -0.1739, -0.1373, -0.1292, -0.12849, -0.128901, -0.128906],
        ],
        lam: vec![
            vec![0.0, 0.99, 0.83, 0.64, 0.57, 0.5302, 0.5301],
            vec![-1.0, -0.13, -0.56, -0.77, -0.82, -0.8479, -0.848],
        ],
    };
    let measures = measures((0.02244, 0.02), (-0.128906, -0.125), 0.0);
    Page {
        name: "mars-rover-infeasible".into(),
        verdict: "infeasible".into(),
        sentence: "No policy comes closer to the target set than 0.00460232, and this mixture is that close."
            .into(),
        command: "appropo solve mars-rover-infeasible --oracle exact".into(),
        problem: problem(0.02, -0.125),
        samples: 0,
        evaluation_samples: 0,
        oracle_calls: 7,
        distance: 0.00460232,
        lower_bound: 0.00460232,
        tolerance: 1e-6,
        confidence: None,
        constraints: constraints(&measures),
        measures,
        rounds,
        sets: quadrant(0.02, -0.125),
        mixture: vec![
            Part { weight: 0.7131, kind: "table".into(), z: vec![0.0198, -0.13171] },
            Part { weight: 0.2869, kind: "table".into(), z: vec![0.029, -0.12194] },
        ],
        times: vec![("oracle".into(), 0.0031), ("player".into(), 0.0004), ("writing".into(), 0.002)],
        ..rover(1, 0, 1.0)
    }
}

/// One call was enough, there is one measure and no map.
fn one_round() -> Page {
    let measures = vec![Measure { name: "cost".into(), value: 0.31, upper: Some(0.5), ..Measure::default() }];
    Page {
        name: "bandit".into(),
        verdict: "feasible".into(),
        sentence: "The first policy already meets the only constraint.".into(),
        command: "appropo solve bandit".into(),
        oracle_calls: 1,
        tolerance: 1e-6,
        constraints: constraints(&measures),
        measures,
        rounds: Rounds {
            objective: Vec::new(),
            round: vec![1],
            samples: vec![0],
            distance: vec![0.0],
            lower_bound: vec![0.0],
            z: vec![vec![0.31]],
            lam: vec![vec![0.0]],
        },
        mixture: vec![Part { weight: 1.0, kind: "table".into(), z: vec![0.31] }],
        times: vec![("oracle".into(), 0.0002)],
        version: "appropo 0.2.0".into(),
        problem: "[environment]\nname = \"bandit\"\n".into(),
        ..Page::default()
    }
}

/// A large map with all letters.
fn cliff() -> Grid {
    let letter = |cell: usize| match (cell / 30, cell % 30) {
        (29, 0) => 'S',
        (29, 29) => 'G',
        (29, _) => 'C',
        (row, column) if row * column % 17 == 16 => 'H',
        _ => 'F',
    };
    let visit = |cell: usize| 1.0 / (1.0 + ((cell / 30) as f64 - 24.0).powi(2));
    Grid {
        rows: 30,
        columns: 30,
        cells: (0..900).map(letter).collect(),
        visits: (0..900).map(visit).collect(),
    }
}

/// Ten thousand rounds of gradient descent, thinned to a thousand; many measures, 500 policies, out of budget.
fn long(count: usize) -> Page {
    let rounds: Vec<usize> = (1..=1_000).map(|k| 10 * k).collect();
    let curve =
        |of: &dyn Fn(f64, usize) -> f64| rounds.iter().map(|t| of(*t as f64, *t)).collect::<Vec<f64>>();
    let measure = |i: usize| Measure {
        name: format!("visits to zone {}", i + 1),
        value: if i == 0 { 0.0379 } else { 0.05 + 0.01 * i as f64 },
        interval: Some([0.037 + 0.01 * i as f64, 0.055 + 0.01 * i as f64]),
        lower: i.is_multiple_of(2).then_some(0.04 + 0.01 * i as f64),
        upper: (i % 3 == 1).then_some(0.07 + 0.01 * i as f64),
        ..Measure::default()
    };
    let measures: Vec<Measure> = (0..count).map(measure).collect();
    let z = |i: usize| {
        curve(&|t, k| {
            0.05 + 0.01 * i as f64
                + (0.3 * (t / 40.0 + i as f64).ln().sin() + 0.02 * noise(i as u64, k))
                    / (1.0 + t / 20.0).sqrt()
        })
    };
    let lam =
        |i: usize| curve(&|t, k| ((i as f64 - 6.0) / 9.0 + 0.1 * noise(i as u64 + 50, k)) / t.powf(0.2));
    let circle = |i: usize| {
        let (x, y) = (0.05 + 0.01 * i as f64, 0.06 + 0.01 * i as f64);
        let corner = |k: usize| {
            let angle = k as f64 * std::f64::consts::TAU / 72.0;
            [x + 0.02 * angle.cos(), y + 0.02 * angle.sin()]
        };
        Outline { x: i, y: i + 1, outline: (0..72).map(corner).collect() }
    };
    let part = |k: usize| Part {
        weight: (1.0 + noise(3, k)) / 500.0,
        kind: if k.is_multiple_of(7) { "table" } else { "network" }.into(),
        z: vec![],
    };
    Page {
        name: "garnet-400-states-with-a-rather-long-name-that-has-to-break-somewhere".into(),
        verdict: "undecided".into(),
        sentence: "The budget of 10,000 rounds ended at distance 0.0021, and a distance of 0.0004 cannot be excluded.".into(),
        command: "appropo solve garnet.toml --player ogd --rounds 10000 --seed 18446744073709551615".into(),
        seed: u64::MAX,
        samples: 2_000_000_000,
        evaluation_samples: 1_000_000,
        oracle_calls: 10_000,
        distance: 0.0021,
        lower_bound: 4e-4,
        constraints: constraints(&measures[..3]),
        rounds: Rounds {
            objective: Vec::new(),
            samples: rounds.iter().map(|t| *t as u64 * 200_000).collect(),
            distance: curve(&|t, k| (0.2 / t.sqrt()) * (1.0 + 0.1 * noise(1, k))),
            lower_bound: curve(&|t, _| if t < 500.0 { 0.0 } else { 4e-4 - 0.2 / t }),
            z: (0..count).map(z).collect(),
            lam: (0..count).map(lam).collect(),
            round: rounds,
        },
        sets: (0..count - 1).map(circle).collect(),
        measures,
        grid: None,
        mixture: (0..500).map(part).collect(),
        times: vec![
            ("oracle".into(), 9_318.0),
            ("player".into(), 214.0),
            ("evaluation".into(), 61.0),
            ("writing".into(), 3.0),
        ],
        ..rover(1, 0, 1.0)
    }
}
