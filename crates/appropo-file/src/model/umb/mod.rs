//! The binary format that PRISM, Storm and Modest share: an archive of an index and of plain arrays.

mod index;
mod number;
mod read;
mod valuations;
mod write;

pub use read::read;
pub use write::write;

/// What an annotation or a valuation may belong to here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entity {
    States,
    Choices,
    Branches,
}

impl Entity {
    const ALL: [Self; 3] = [Entity::States, Entity::Choices, Entity::Branches];

    fn word(self) -> &'static str {
        match self {
            Entity::States => "states",
            Entity::Choices => "choices",
            Entity::Branches => "branches",
        }
    }
}

const INDEX: &str = "index.json";
const STATE_TO_CHOICES: &str = "state-to-choices.bin";
const STATE_IS_INITIAL: &str = "state-is-initial.bin";
const CHOICE_TO_BRANCHES: &str = "choice-to-branches.bin";
const BRANCH_TO_TARGET: &str = "branch-to-target.bin";
const BRANCH_TO_PROBABILITY: &str = "branch-to-probability.bin";
const CHOICE_ACTIONS: &str = "actions/choices";
const STATE_VALUATIONS: &str = "valuations/states";

/// The file of an annotation.
fn annotation(group: &str, id: &str, entity: Entity) -> String {
    format!("annotations/{group}/{id}/{}/values.bin", entity.word())
}
