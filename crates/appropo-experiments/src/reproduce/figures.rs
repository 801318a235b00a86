//! The paper's figures, from the runs.

use super::Series;
use super::run::{LEAST_REWARD, Look, MOST_FAILURE, Method, RADIUS, Rover, own};
use crate::Result;
use crate::figure::{Axis, Bound, Color, Figure, Heat, Key, Map, Mark, Mean, Panel, Plot};

const COLORS: [Color; 6] =
    [Color::Blue, Color::Vermillion, Color::Green, Color::Orange, Color::Purple, Color::Sky];

/// Every figure with the name of its file.
pub fn all(
    rover: &Rover,
    main: &[Series],
    own: &[Series],
    tuning: &[Series],
) -> Result<Vec<(String, String)>> {
    let is_default = |method: &Method| {
        matches!(method, Method::Own { player: "fully-corrective", oracle: "model" | "ppo", .. })
    };
    let defaults: Vec<&Series> = own.iter().filter(|series| is_default(&series.method)).collect();
    let mut figures = vec![
        ("figure-1".to_owned(), maps(rover)?),
        ("figure-2".to_owned(), with_scatter("", &main.iter().collect::<Vec<_>>())),
        ("model-and-network".to_owned(), with_scatter("ApproPO by default", &defaults)),
    ];
    let mut tuned = |file: String, title: &str, is_in: &dyn Fn(&Method) -> bool| {
        let rows: Vec<&Series> = tuning.iter().filter(|series| is_in(&series.method)).collect();
        let (panels, legend) = (curves(&rows), legend(&rows, false));
        figures.push((file, Figure { title: title.to_owned(), columns: 3, panels, legend }.svg()));
    };
    for chosen in [10, 20] {
        let of = |is_diverse: bool| move |m: &Method| matches!(m, Method::Paper { diverse, n, .. } if *diverse == is_diverse && *n == chosen);
        tuned(format!("tuning-appropo-{chosen}"), "ApproPO: rate and n", &of(false));
        tuned(format!("tuning-diversity-{chosen}"), "ApproPO with diversity: rate and n", &of(true));
    }
    tuned("tuning-rcpo".into(), "RCPO: rate of the multiplier", &|m| matches!(m, Method::Rcpo { .. }));
    Ok(figures)
}

/// Figure 1: the map, and where the rover goes without and with diversity, by ApproPO in a learnt model.
fn maps(rover: &Rover) -> Result<String> {
    let Some(grid) = rover.world.grid.clone() else { return Ok(String::new()) };
    let heat = |diverse| -> Result<Vec<f64>> {
        let (_, mixture) = own(rover, diverse, "model", "fully-corrective", 0)?;
        Ok(rover.shares(&mixture)?)
    };
    let (plain, diverse) = (heat(false)?, heat(true)?);
    let most = plain.iter().chain(&diverse).copied().fold(0.0, f64::max);
    let map = |title: &str, values: Option<Vec<f64>>| {
        let heat = values.map(|values| Heat { label: "share of time".into(), values, most: Some(most) });
        Panel::Map(Map { title: title.into(), grid: grid.clone(), heat })
    };
    let panels = vec![
        map("the map", None),
        map("learnt model", Some(plain)),
        map("learnt model with diversity", Some(diverse)),
    ];
    Ok(Figure { title: String::new(), columns: 3, panels, legend: Vec::new() }.svg())
}

/// Figure 2: curves of the three constraints above, scatter plots of single runs below.
fn with_scatter(title: &str, series: &[&Series]) -> String {
    let mut panels = curves(series);
    let all = samples(series);
    for samples in [all / 5, all * 2 / 5, all] {
        panels.push(Panel::Plot(scatter(series, samples)));
    }
    Figure { title: title.into(), columns: 3, panels, legend: legend(series, true) }.svg()
}

/// Those of a whole run.
fn samples(series: &[&Series]) -> u64 {
    series.iter().flat_map(|series| &series.runs).flatten().map(|look| look.samples).max().unwrap_or(0)
}

fn legend(series: &[&Series], scatter: bool) -> Vec<(Key, String)> {
    let mut legend: Vec<(Key, String)> =
        series.iter().zip(COLORS).map(|(s, color)| (Key::Series(color), s.name.clone())).collect();
    legend.push((Key::Estimate, "the algorithm's own estimate".into()));
    legend.push((Key::Threshold, "threshold".into()));
    if scatter {
        legend.push((Key::Target, "target set".into()));
    }
    legend
}

fn curves(series: &[&Series]) -> Vec<Panel> {
    let axes = [
        ("probability of failure", Bound::AtMost(MOST_FAILURE), (0.0, 1.0)),
        ("reward", Bound::AtLeast(LEAST_REWARD), (-1.0, 0.0)),
        ("distance to uniform", Bound::AtMost(RADIUS), (0.0, 0.6)),
    ];
    let panel = |(entry, (label, bound, range)): (usize, (&str, Bound, (f64, f64)))| {
        let mut marks = Vec::new();
        for (series, color) in series.iter().zip(COLORS) {
            marks.push(Mark::Curve { color, means: means(series, |look| look.truth[entry]) });
            let estimates = means(series, |look| look.estimate[entry]);
            let points = estimates.iter().map(|mean| (mean.x, mean.mean)).collect();
            marks.push(Mark::Estimate { color, points });
        }
        let x = Axis { label: "samples".into(), range: Some((0.0, samples(series) as f64)), bound: None };
        let y = Axis { label: label.into(), range: Some(range), bound: Some(bound) };
        Panel::Plot(Plot { title: String::new(), x, y, marks })
    };
    axes.into_iter().enumerate().map(panel).collect()
}

/// Mean and standard deviation over the runs that have a value by then.
fn means(series: &Series, value: impl Fn(&Look) -> f64) -> Vec<Mean> {
    let looks = series.runs.iter().map(Vec::len).min().unwrap_or(0);
    let at = |i: usize| {
        let values: Vec<f64> =
            series.runs.iter().map(|run| value(&run[i])).filter(|value| !value.is_nan()).collect();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let deviation = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count).sqrt();
        Mean { x: series.runs[0][i].samples as f64, mean, deviation }
    };
    (0..looks).map(at).collect()
}

fn scatter(series: &[&Series], samples: u64) -> Plot {
    let marks = series.iter().zip(COLORS).map(|(series, color)| {
        let looks = series.runs.iter().filter_map(|run| run.iter().find(|look| look.samples >= samples));
        let points = looks.map(|look| (look.truth[1], look.truth[0])).collect();
        Mark::Dots { color, points }
    });
    Plot {
        title: format!("after {samples} samples"),
        x: Axis {
            label: "reward".into(),
            range: Some((-1.0, 0.0)),
            bound: Some(Bound::AtLeast(LEAST_REWARD)),
        },
        y: Axis {
            label: "probability of failure".into(),
            range: Some((0.0, 1.0)),
            bound: Some(Bound::AtMost(MOST_FAILURE)),
        },
        marks: marks.collect(),
    }
}
