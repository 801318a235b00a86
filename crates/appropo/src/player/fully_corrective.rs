use std::sync::Arc;

use super::master::Hull;
use super::units::Units;
use super::{
    Decision, MakePlayer, Margin, Player, PlayerContext, PlayerEntry, Pursuit, Weights, aim, check,
    keeps_margin, separating,
};
use crate::error::Result;
use crate::measurement::Spread;
use crate::options::{Kind, Measurements, Options, Range, Table, options};
use crate::set::{ConvexSet, Errors, SharedSet};
use crate::state::{Checkpoint, Loader, Saver, misfit};
use crate::utility::Criterion;
use crate::vector;

options! {
    /// The options of [`FullyCorrective`].
    pub struct FullyCorrectiveOptions {
        /// By how many standard errors it keeps away from the set's edge while answers are estimates.
        margin: f64 = Kind::Number(Range::FROM_ZERO), defaulted "1.75";
        /// While the oracle learns: measurements by name that the first λ leads away from; those not named are 0.
        anchor: Option<Measurements> = Kind::Measurements, optional "{ failure = 0.8 }";
    }
}

pub(super) static ENTRY: PlayerEntry = PlayerEntry {
    name: "fully-corrective",
    about: "the default: few calls",
    keys: FullyCorrectiveOptions::KEYS,
    read: |given| Ok(Arc::new(FullyCorrectiveOptions::read(given)?)),
};

impl MakePlayer for FullyCorrectiveOptions {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn make(&self, set: &SharedSet, context: &PlayerContext) -> Result<Box<dyn Player>> {
        let player = FullyCorrective::new(Arc::clone(set)).with_margin(self.margin);
        let player = match context.criterion {
            Some(criterion) => player.maximizing(criterion.clone()),
            None => player,
        };
        let anchor =
            self.anchor.as_ref().map(|anchor| anchor.vector(context.measures, "anchor")).transpose()?;
        Ok(Box::new(match anchor.filter(|_| context.is_learning) {
            Some(z) => player.anchored_at(&context.selection.apply(&z))?,
            None => player,
        }))
    }

    fn table(&self, _: &SharedSet, context: &PlayerContext) -> Result<Table> {
        let mut table = Options::table(self);
        if !context.is_learning && self.margin == Self::default().margin {
            table.remove("margin");
        }
        Ok(table)
    }

    fn takes_objective(&self) -> bool {
        true
    }

    fn rounds(&self) -> usize {
        1000
    }
}

/// The default player. In every round it finds the point x = Σ wᵢẑᵢ of the hull of all answers that is closest
/// to the target set, and λ ∝ x − Γ(x).
///
/// Exact answers with weight 0 leave; at most d + 1 stay. Uncertain answers stay, because better estimates may bring
/// them back, and the player aims at the set tightened by the standard error of its mixture: a master that
/// optimises over estimates finds those that happen to be too good.
#[derive(Debug)]
pub struct FullyCorrective {
    set: SharedSet,
    aim: SharedSet,
    /// Where the aim was taken from, and the errors that it allows for.
    aimed: Option<(Vec<f64>, Vec<f64>)>,
    margin: f64,
    /// λ₁, which is a part of every later λ.
    anchor: Decision,
    hull: Hull,
    /// Questions about one constraint alone, to be asked before all others.
    alone: Vec<Decision>,
    /// The least distance so far, and the answers since that brought nothing.
    stalled: (f64, usize),
    decision: Decision,
    /// What is maximised once it is pursued.
    criterion: Criterion,
    /// Whether anything is: then the set is only to be reached, and the objective's entries count for nothing on the way.
    is_maximizing: bool,
    /// The set's multiplier y at the mixture, once that is so.
    price: Option<Vec<f64>>,
    /// How many answers there were.
    answers: usize,
}

/// How a margin grows.
const MORE: f64 = 1.5;

/// More standard errors than this mean nothing.
const MOST_MARGIN: f64 = 100.0;

impl FullyCorrective {
    /// A player for `set`, starting with λ = 0.
    pub fn new(set: SharedSet) -> Self {
        let dim = set.dim();
        Self {
            aim: Arc::clone(&set),
            aimed: None,
            set,
            margin: 1.0,
            anchor: Decision { lam: vec![0.0; dim], offset: 0.0 },
            hull: Hull::new(dim),
            alone: Vec::new(),
            stalled: (f64::INFINITY, 0),
            decision: Decision { lam: vec![0.0; dim], offset: 0.0 },
            criterion: Criterion::last(),
            is_maximizing: false,
            price: None,
            answers: 0,
        }
    }

    /// The same player, keeping away from the set's edge by this many standard errors, 1 unless said.
    pub fn with_margin(self, margin: f64) -> Self {
        Self { margin, ..self }
    }

    /// The same player, to pursue this; the last measurement unless said.
    pub fn maximizing(self, criterion: Criterion) -> Self {
        Self { criterion, is_maximizing: true, ..self }
    }

    /// The same player, starting with the λ₁ that leads from `z` to the set, and adding λ₁ to every later λ.
    ///
    /// For an oracle that learns: `z` says which violations are worth how much to a policy that can do nothing yet, and
    /// a learner whose reward always contains that of λ₁ does not forget what it learnt for it.
    pub fn anchored_at(self, z: &[f64]) -> Result<Self> {
        check(&self.set, z)?;
        let anchor = separating(&self.set, z)?;
        Ok(Self { decision: anchor.clone(), anchor, ..self })
    }

    /// What the mixture measures.
    pub(crate) fn point(&self) -> &[f64] {
        self.hull.point()
    }

    fn take_aim(&mut self, from: Vec<f64>, errors: Vec<f64>) {
        self.aim = aim(&self.set, &from, &Errors::Standard(errors.clone()));
        self.aimed = Some((from, errors));
    }

    fn decide(&mut self) -> Result<()> {
        self.mix()?;
        if !self.hull.is_uncertain() {
            return Ok(());
        }
        // How much to tighten depends on the mixture, and the mixture on the aim.
        if self.price.is_none() {
            self.take_aim(self.hull.point().to_vec(), self.errors(JUDGED));
            return self.mix();
        }
        // The best mixture for a wide aim is unsure, and that for a narrow one sure: halfway until they agree.
        for _ in 0..HALFWAYS {
            let mut errors = self.errors(f64::INFINITY);
            if let Some((_, before)) = &self.aimed {
                errors.iter_mut().zip(before).for_each(|(now, before)| *now = 0.5 * (*now + before));
            }
            self.take_aim(self.hull.point().to_vec(), errors);
            self.mix()?;
        }
        Ok(())
    }

    /// What the mixture is to keep away from the edge by.
    fn errors(&self, most_episodes: f64) -> Vec<f64> {
        let mut errors = self.hull.errors(most_episodes);
        vector::scale(&mut errors, self.margin);
        errors
    }

    /// Where learnt answers bring nothing, each constraint is asked about alone: what was learnt for all of them together may
    /// be hard to leave again.
    fn notice_stall(&mut self) -> Result<()> {
        let distance = match Units::of(&self.set, &self.hull) {
            Some(units) => units.of_set(&self.set)?.distance(&units.of_point(self.hull.point())),
            None => self.set.distance(self.hull.point()),
        };
        let (least, answers) = self.stalled;
        if distance < 0.99 * least || distance == 0.0 {
            self.stalled = (distance, 0);
        } else if self.alone.is_empty() && self.price.is_none() {
            self.stalled.1 = answers + 1;
            if answers + 1 == STALLED {
                self.alone = alone(&self.set, self.hull.point())?;
                self.stalled.1 = 0;
            }
        }
        Ok(())
    }

    /// Moves to the best point of the hull, and names the half-space that follows from it.
    fn mix(&mut self) -> Result<()> {
        if let Some(price) = &mut self.price {
            self.decision = self.hull.maximize(&self.aim, &self.criterion, price)?;
            return Ok(());
        }
        self.decision = match Units::of(&self.set, &self.hull) {
            // An objective asks only that the set is reached, in whatever units.
            None if self.is_maximizing => {
                let constrained = self.set.dim() - self.criterion.dim();
                let units = Units::of_constraints(&self.set, &self.hull, constrained);
                let aim = units.of_set(&self.aim)?;
                self.hull.approach_in(units.entries(), &aim)?;
                units.decision(separating(&aim, &units.of_point(self.hull.point()))?)
            }
            None => {
                self.hull.approach(&self.aim)?;
                separating(&self.aim, self.hull.point())?
            }
            Some(units) => {
                let aim = units.of_set(&self.aim)?;
                self.hull.approach_in(units.entries(), &aim)?;
                units.decision(separating(&aim, &units.of_point(self.hull.point()))?)
            }
        };
        vector::add_scaled(&mut self.decision.lam, 1.0, &self.anchor.lam);
        self.decision.offset += self.anchor.offset;
        Ok(())
    }
}

/// Episodes whose standard errors a margin is at least made of, however many there were: who judges plays not many more,
/// and has to tell the mixture from the set's edge. An objective is worth more episodes.
const JUDGED: f64 = 50.0;

/// Mixtures for an objective until their errors are those that the aim allows for.
const HALFWAYS: usize = 10;

/// The most questions about one constraint alone.
const MOST_ALONE: usize = 4;

/// Learnt answers in a row that bring nothing before they are asked.
const STALLED: usize = 3;

/// The λ of every constraint that a point violates by itself, where it violates several.
fn alone(set: &SharedSet, z: &[f64]) -> Result<Vec<Decision>> {
    let (mut found, mut start) = (Vec::new(), 0);
    for block in set.blocks().unwrap_or(&[]) {
        let part = separating(block, &z[start..start + block.dim()])?;
        if vector::norm(&part.lam) > 0.0 {
            let mut lam = vec![0.0; z.len()];
            lam[start..start + block.dim()].copy_from_slice(&part.lam);
            found.push(Decision { lam, offset: part.offset });
        }
        start += block.dim();
    }
    found.truncate(MOST_ALONE);
    Ok(if found.len() > 1 { found } else { Vec::new() })
}

impl Player for FullyCorrective {
    fn decision(&self) -> &Decision {
        self.alone.first().unwrap_or(&self.decision)
    }

    fn observe(&mut self, z_hat: &[f64], spread: Option<&Spread>) -> Result<()> {
        check(&self.set, z_hat)?;
        self.hull.add(self.answers, z_hat, spread.cloned());
        self.answers += 1;
        if !self.alone.is_empty() {
            self.alone.remove(0);
        }
        self.decide()?;
        if spread.is_some() { self.notice_stall() } else { Ok(()) }
    }

    fn weights(&self) -> Weights {
        Weights::Listed(self.hull.weights().collect())
    }

    fn margin(&mut self) -> Option<&mut dyn Margin> {
        Some(self)
    }

    fn pursuit(&mut self) -> Option<&mut dyn Pursuit> {
        Some(self)
    }
}

impl Pursuit for FullyCorrective {
    fn pursue(&mut self) -> Result<()> {
        self.price.get_or_insert_default();
        self.alone.clear();
        self.decide()
    }

    fn is_pursuing(&self) -> bool {
        self.price.is_some()
    }
}

impl Margin for FullyCorrective {
    fn is_uncertain(&self) -> bool {
        self.hull.is_uncertain()
    }

    fn distance(&self) -> f64 {
        self.aim.distance(self.hull.point())
    }

    fn revise(&mut self, answers: Vec<(usize, Vec<f64>, Spread)>) -> Result<()> {
        for (index, z_hat, spread) in answers {
            check(&self.set, &z_hat)?;
            self.hull.revise(index, z_hat, spread);
        }
        self.decide()
    }

    fn increase_margin(&mut self) -> Result<bool> {
        if !keeps_margin(&self.set) {
            return Ok(false);
        }
        let before = self.margin;
        self.margin = (MORE * before).min(MOST_MARGIN.max(before));
        self.decide()?;
        Ok(self.margin > before)
    }
}

impl Checkpoint for FullyCorrective {
    fn save(&self, to: &mut Saver) -> Result<()> {
        self.decision.save(to);
        to.put(&self.answers);
        to.put(&self.aimed);
        to.put(&self.margin);
        to.put(&self.price);
        to.put(&self.stalled);
        to.put(&self.alone.len());
        self.alone.iter().for_each(|question| question.save(to));
        self.hull.save(to);
        Ok(())
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.decision.load(from)?;
        self.answers = from.get_count("a number of answers")?;
        let dim = self.set.dim();
        let fits = |v: &Vec<f64>| v.len() == dim && v.iter().all(|v| v.is_finite());
        match from.get::<Option<(Vec<f64>, Vec<f64>)>>()? {
            None => {}
            Some((at, errors)) if fits(&at) && fits(&errors) && errors.iter().all(|e| *e >= 0.0) => {
                self.take_aim(at, errors);
            }
            Some(_) => return Err(misfit("an aim is for another set")),
        }
        self.margin = from.get_where("a margin", |margin| (0.0..=f64::MAX).contains(margin))?;
        self.price = from.get_where("a price", |price: &Option<Vec<f64>>| price.as_ref().is_none_or(fits))?;
        let fits = |(least, answers): &(f64, usize)| *least >= 0.0 && *answers < STALLED;
        self.stalled = from.get_where("a least distance", fits)?;
        self.alone.clear();
        for _ in 0..from.get_length()? {
            let mut question = Decision { lam: vec![0.0; dim], offset: 0.0 };
            question.load(from)?;
            self.alone.push(question);
        }
        self.hull.load(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::{Bounds, Product};

    #[test]
    fn the_anchor_is_the_first_decision_and_a_part_of_every_later_one() {
        let set: SharedSet = Arc::new(Bounds::new(vec![f64::NEG_INFINITY; 2], vec![0.0; 2]).unwrap());
        let mut player = FullyCorrective::new(set).anchored_at(&[3.0, 4.0]).unwrap();
        let is = |decision: &Decision, lam: [f64; 2]| {
            vector::distance(&decision.lam, &lam) < 1e-12 && decision.offset.abs() < 1e-12
        };
        assert!(is(player.decision(), [0.6, 0.8]));
        player.observe(&[2.0, -1.0], None).unwrap();
        assert!(is(player.decision(), [1.6, 0.8]));
    }

    /// A first answer that measures nothing but 0 is as good a place to go on from as any.
    #[test]
    fn an_objective_is_pursued_from_the_origin() {
        let limits = Bounds::new(vec![f64::NEG_INFINITY; 2], vec![25.0, f64::INFINITY]).unwrap();
        let mut player = FullyCorrective::new(Arc::new(limits));
        player.observe(&[0.0, -286.0], None).unwrap();
        player.pursue().unwrap();
        assert_eq!(player.decision(), &Decision { lam: vec![0.0, -1.0], offset: 0.0 });
        player.observe(&[50.0, 1000.0], None).unwrap();
        let weights: Vec<(usize, f64)> = player.hull.weights().collect();
        assert!(weights.iter().all(|(_, weight)| (weight - 0.5).abs() < 1e-6), "{weights:?}");
    }

    /// Far beyond the limit and little known: the mixture takes as much of it as its own error allows, in every round.
    #[test]
    fn an_objective_keeps_its_margin_where_the_best_is_unsure() {
        let limits = Bounds::new(vec![f64::NEG_INFINITY; 2], vec![25.0, f64::INFINITY]).unwrap();
        let mut player = FullyCorrective::new(Arc::new(limits)).with_margin(2.0);
        let spread = |deviation: f64| Spread { deviations: vec![deviation, 1.0], episodes: 25.0 };
        player.observe(&[0.0, 1000.0], Some(&spread(0.0))).unwrap();
        player.pursue().unwrap();
        player.observe(&[400.0, 2000.0], Some(&spread(300.0))).unwrap();
        for _ in 0..4 {
            player.decide().unwrap();
            // An episode is one or the other: 400w + 2√(w(300² + 400²) − (400w)²)/√25 = 25.
            let found = player.hull.point()[0] / 400.0;
            let deviation = (found * 250_000.0 - (400.0 * found).powi(2)).sqrt();
            let expected = (25.0 - 2.0 * deviation / 5.0) / 400.0;
            assert!((found - expected).abs() < 0.02 * expected, "{found} {expected}");
            assert!((player.decision().lam[0] - 2.5).abs() < 1e-3, "{:?}", player.decision());
        }
    }

    /// Where learnt answers bring nothing, each constraint is asked about alone; planned ones bring what there is.
    #[test]
    fn every_violated_constraint_is_asked_about_alone_where_learning_stalls() {
        let at_most = |limit: f64| Arc::new(Bounds::at_most(limit).unwrap()) as SharedSet;
        let set: SharedSet = Arc::new(Product::new(vec![at_most(1.0), at_most(5.0), at_most(2.0)]));
        let spread = Spread { deviations: vec![1.0; 3], episodes: 25.0 };
        let (mut player, mut planned) = (FullyCorrective::new(Arc::clone(&set)), FullyCorrective::new(set));
        for _ in 0..4 {
            assert!(player.decision().lam[0] == 0.0 || player.decision().lam[2] > 0.0);
            player.observe(&[4.0, 4.0, 4.0], Some(&spread)).unwrap();
            planned.observe(&[4.0, 4.0, 4.0], None).unwrap();
        }
        for (lam, offset) in [([1.0, 0.0, 0.0], 1.0), ([0.0, 0.0, 1.0], 2.0)] {
            assert_eq!((&player.decision().lam[..], player.decision().offset), (&lam[..], offset));
            player.observe(&[4.0, 4.0, 4.0], Some(&spread)).unwrap();
        }
        for player in [player, planned] {
            assert!(player.decision().lam[0] > 0.0 && player.decision().lam[2] > 0.0);
        }
    }
}
