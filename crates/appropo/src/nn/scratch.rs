/// What a forward pass leaves behind, and where the backward pass works. Reused without allocating, as long as no call
/// has more rows than it was made for.
#[derive(Debug, Clone)]
pub struct Scratch {
    /// Logits or means, and their gradient.
    pub policy: Head,
    /// Values, one a measurement, and their gradient.
    pub value: Head,
    /// The outputs of each hidden layer.
    pub(super) hidden: Vec<Vec<f32>>,
    /// The gradients of a hidden layer and of the one below it.
    pub(super) deltas: [Vec<f32>; 2],
}

/// One head's side of a [`Scratch`]. Both slices hold one row after another, for the rows of the last forward pass.
#[derive(Debug, Clone)]
pub struct Head {
    /// What the forward pass computed.
    pub output: Vec<f32>,
    /// The loss's gradient with respect to `output`: 0 after a forward pass, to be set before the backward pass.
    pub gradient: Vec<f32>,
}

impl Scratch {
    pub(super) fn new(rows: usize, hidden: &[usize], policy: usize, value: usize) -> Self {
        let widest = hidden.iter().max().copied().unwrap_or(0);
        Scratch {
            policy: Head::new(rows * policy),
            value: Head::new(rows * value),
            hidden: hidden.iter().map(|width| vec![0.0; rows * width]).collect(),
            deltas: [vec![0.0; rows * widest], vec![0.0; rows * widest]],
        }
    }
}

impl Head {
    fn new(length: usize) -> Self {
        Head { output: vec![0.0; length], gradient: vec![0.0; length] }
    }

    /// Fills every row of the output with `row`.
    pub(super) fn reset(&mut self, rows: usize, row: &[f32]) {
        self.output.clear();
        (0..rows).for_each(|_| self.output.extend_from_slice(row));
        self.gradient.clear();
        self.gradient.resize(rows * row.len(), 0.0);
    }
}

/// The first `length` entries, made if there are fewer.
pub(super) fn first(values: &mut Vec<f32>, length: usize) -> &mut [f32] {
    if values.len() < length {
        values.resize(length, 0.0);
    }
    &mut values[..length]
}
