//! Runs of appropo on disk: files that survive anything, evidence that anyone can check, and reports.

mod onnx;
mod protobuf;
pub mod tensorboard;

pub use onnx::onnx;
