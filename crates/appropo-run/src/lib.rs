//! Runs of appropo on disk: files that survive anything, evidence that anyone can check, and reports.
