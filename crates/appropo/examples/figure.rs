//! Draws the README's picture: what the Mars rover can achieve, what is asked of it, and how two players get there.
//!
//! `cargo run --release --package appropo --example figure > docs/rover.svg`

use std::ops::ControlFlow;
use std::sync::Arc;

use appropo::constraint::{Constraint, Target};
use appropo::env::mars_rover;
use appropo::error::Result;
use appropo::measurement::Discounting;
use appropo::oracle::{Exact, Planner, Respond};
use appropo::player::{Blackwell, FullyCorrective, Player};
use appropo::solver::{Round, StopRule, appropo};

const SIDE: f64 = 420.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 24.0;

/// Failure runs from 0 to 1 to the right, reward from 0 down to −1.
fn place(z: &[f64]) -> String {
    format!("{:.1},{:.1}", LEFT + SIDE * z[0], TOP - SIDE * z[1])
}

fn line(points: &[Vec<f64>], style: &str) -> String {
    let places: Vec<String> = points.iter().map(|z| place(z)).collect();
    format!("<polyline points=\"{}\" fill=\"none\" {style}/>\n", places.join(" "))
}

fn dots(points: &[Vec<f64>], radius: f64, color: &str) -> String {
    let dot = |z: &Vec<f64>| {
        let (x, y) = (LEFT + SIDE * z[0], TOP - SIDE * z[1]);
        format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{color}\"/>\n")
    };
    points.iter().map(dot).collect()
}

fn label(x: f64, y: f64, anchor: &str, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>\n")
}

fn main() -> Result<()> {
    let world = mars_rover::world("8x8", 0.05)?;
    let constraints = vec![Constraint::at_most("failure", 0.2)?, Constraint::at_least("reward", -0.17)?];
    let target = Target::new(world.model.measures(), constraints)?;
    let model = world.model.select(target.selection());
    let oracle = || Exact::new(model.clone(), Discounting::new(0.99, None)?, Planner::PolicyIteration);

    let mut answers = oracle()?;
    let mut corners = Vec::new();
    for step in 0..720 {
        let angle = f64::from(step).to_radians() / 2.0;
        corners.push(answers.respond(&[angle.cos(), angle.sin()], 0.0)?.z_hat);
    }
    let path = |player: &mut dyn Player| -> Result<Vec<Vec<f64>>> {
        let mut points = Vec::new();
        let mut watch = |round: &Round| {
            points.push(round.z_bar.to_vec());
            ControlFlow::Continue(())
        };
        appropo(target.set(), player, &mut oracle()?, &StopRule::default(), &mut watch)?;
        Ok(points)
    };
    let blackwell = path(&mut Blackwell::new(Arc::clone(target.set())))?;
    let corrective = path(&mut FullyCorrective::new(Arc::clone(target.set())))?;

    let corner_places: Vec<String> = corners.iter().map(|z| place(z)).collect();
    let (right, bottom) = (LEFT + SIDE, TOP + SIDE);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0} {:.0}\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#333\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        right + 230.0,
        bottom + 50.0
    );
    svg +=
        &format!("<polygon points=\"{}\" fill=\"#dbe7f5\" stroke=\"#7a9cc6\"/>\n", corner_places.join(" "));
    svg += &format!(
        "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#3a9d5d\" fill-opacity=\"0.35\" stroke=\"#3a9d5d\"/>\n",
        SIDE * 0.2,
        SIDE * 0.17
    );
    svg += &line(&[vec![0.0, 0.0], vec![0.0, -1.0], vec![1.0, -1.0]], "stroke=\"#333\"");
    svg += &line(&blackwell, "stroke=\"#d98b2b\" stroke-width=\"1.2\"");
    svg += &dots(&blackwell, 1.6, "#d98b2b");
    svg += &line(&corrective, "stroke=\"#b3261e\" stroke-width=\"2\"");
    svg += &dots(&corrective, 5.0, "#b3261e");
    for tick in [0.0, 0.2, 0.4, 0.6, 0.8, 1.0] {
        svg += &label(LEFT + SIDE * tick, bottom + 18.0, "middle", &format!("{tick}"));
        svg += &label(LEFT - 8.0, TOP + SIDE * tick + 4.0, "end", &format!("{}", 0.0 - tick));
    }
    svg += &label(LEFT + SIDE / 2.0, bottom + 38.0, "middle", "failure: discounted probability of a crash");
    svg += &format!(
        "<text transform=\"translate(20 {:.0}) rotate(-90)\" text-anchor=\"middle\">reward</text>\n",
        TOP + SIDE / 2.0
    );
    let rounds = |points: &[Vec<f64>]| {
        if points.len() == 1 { "1 call".into() } else { format!("{} calls", points.len()) }
    };
    let legend = [
        ("#7a9cc6", "what policies can reach".to_owned()),
        ("#3a9d5d", "what is asked for".to_owned()),
        ("#b3261e", format!("corrective player, {}", rounds(&corrective))),
        ("#d98b2b", format!("Blackwell's player, {}", rounds(&blackwell))),
    ];
    for (i, (color, text)) in legend.iter().enumerate() {
        let y = TOP + 30.0 + 24.0 * i as f64;
        svg += &format!(
            "<rect x=\"{:.0}\" y=\"{:.0}\" width=\"12\" height=\"12\" fill=\"{color}\"/>\n",
            right + 22.0,
            y - 11.0
        );
        svg += &label(right + 42.0, y, "start", text);
    }
    println!("{svg}</svg>");
    Ok(())
}
