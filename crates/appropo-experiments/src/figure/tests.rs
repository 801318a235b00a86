use appropo::env::Grid;
use resvg::tiny_skia::Pixmap;
use resvg::usvg::{Options, Tree};

use super::*;

/// Curves with a threshold, dots with a target set, a map and a heat map, some of it not a number.
fn figure() -> Figure {
    let means = (0..=20).map(|step| {
        let x = 500.0 * f64::from(step);
        Mean { x, mean: if step == 3 { f64::NAN } else { (-x / 2000.0).exp() }, deviation: 0.1 }
    });
    let curves = Plot {
        title: "Probability of failure < 1 & > 0".into(),
        x: Axis { label: "samples".into(), ..Axis::default() },
        y: Axis { label: "\"failure\"".into(), bound: Some(Bound::AtMost(0.2)), ..Axis::default() },
        marks: vec![
            Mark::Curve { color: Color::Blue, means: means.collect() },
            Mark::Estimate { color: Color::Blue, points: vec![(0.0, 0.9), (f64::NAN, 0.5), (10000.0, 0.0)] },
        ],
    };
    let points = Color::ALL.map(|color| (color, vec![(0.1, -0.2), (0.9, f64::INFINITY), (0.5, -0.1)]));
    let dots = Plot {
        x: Axis { bound: Some(Bound::AtMost(0.2)), ..Axis::default() },
        y: Axis { bound: Some(Bound::AtLeast(-0.17)), ..Axis::default() },
        marks: points.into_iter().map(|(color, points)| Mark::Dots { color, points }).collect(),
        ..Plot::default()
    };
    let grid = Grid { rows: 2, columns: 3, cells: "SFHFCG".chars().collect() };
    let heat = Heat { label: "visits".into(), values: vec![0.4, f64::NAN, 0.0, 0.1], most: None };
    Figure {
        title: "A control character: \u{1}".into(),
        columns: 2,
        panels: vec![
            Panel::Plot(curves),
            Panel::Plot(dots),
            Panel::Map(Map { title: "map".into(), grid: grid.clone(), heat: None }),
            Panel::Map(Map { title: "heat".into(), grid, heat: Some(heat) }),
        ],
        legend: vec![
            (Key::Series(Color::Blue), "ApproPO".into()),
            (Key::Estimate, "its own estimate".into()),
            (Key::Threshold, "threshold".into()),
            (Key::Target, "target set".into()),
        ],
    }
}

fn well_formed(svg: &str) -> bool {
    Tree::from_str(svg, &Options::default()).is_ok() && !svg.contains("NaN") && !svg.contains("inf")
}

#[test]
fn figures_are_well_formed() {
    assert!(well_formed(&figure().svg()));
    let no_grid = Grid { rows: 0, columns: 0, cells: vec![] };
    let heat = Heat { label: String::new(), values: vec![], most: Some(f64::NAN) };
    let unbounded = Axis { bound: Some(Bound::AtMost(f64::NAN)), ..Axis::default() };
    let empty = [
        Panel::Plot(Plot::default()),
        Panel::Plot(Plot { x: unbounded.clone(), y: unbounded, ..Plot::default() }),
        Panel::Plot(Plot {
            marks: vec![Mark::Curve { color: Color::Sky, means: vec![] }],
            ..Plot::default()
        }),
        Panel::Map(Map { title: String::new(), grid: no_grid, heat: Some(heat) }),
    ];
    for panel in empty {
        let figure = Figure { title: String::new(), columns: 0, panels: vec![panel], legend: vec![] };
        assert!(well_formed(&figure.svg()), "{}", figure.svg());
    }
}

#[test]
fn same_data_same_bytes() {
    assert_eq!(figure().svg(), figure().svg());
    assert_eq!(png(&figure().svg(), 1.0), png(&figure().svg(), 1.0));
}

#[test]
fn long_legends_are_broken_into_lines() {
    let mut figure = figure();
    let lines = |figure: &Figure, width| figure.legend_svg(width).1 / LEGEND_LINE;
    assert_eq!(lines(&figure, 800.0), 1.0);
    assert_eq!(lines(&figure, 400.0), 2.0);
    assert_eq!(lines(&figure, 1.0), 4.0);
    figure.legend.clear();
    assert_eq!(lines(&figure, 400.0), 0.0);
}

#[test]
fn pictures_have_words_and_the_size_asked_for() {
    let pixels = |svg: &str| Pixmap::decode_png(&png(svg, 2.0).unwrap()).unwrap();
    let svg = figure().svg();
    let picture = pixels(&svg);
    let size = Tree::from_str(&svg, &Options::default()).unwrap().size();
    assert_eq!((picture.width() as f32, picture.height() as f32), (2.0 * size.width(), 2.0 * size.height()));

    let blank = Figure { title: String::new(), panels: vec![], legend: vec![], columns: 1 };
    let shown = |figure: &Figure| pixels(&figure.svg()).pixels().iter().any(|pixel| pixel.red() < 128);
    assert!(!shown(&blank));
    // Nothing but the font can have drawn this one.
    assert!(shown(&Figure { legend: vec![(Key::Target, "words".into())], ..blank }));
}

#[test]
fn a_mean_of_one_run_has_a_line_without_a_band() {
    let means = vec![
        Mean { x: 0.0, mean: 0.0, deviation: f64::NAN },
        Mean { x: 1.0, mean: 1.0, deviation: f64::NAN },
    ];
    let plot = Plot { marks: vec![Mark::Curve { color: Color::Blue, means }], ..Plot::default() };
    assert!(plot.svg().contains("M0 220L300 0"));
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    assert!(png("<svg", 1.0).is_err());
    assert!(png(&figure().svg(), f32::NAN).is_err());
    assert!(png(&figure().svg(), 1e9).is_err());
}
