//! `appropo`: reinforcement learning under convex constraints from the command line.

fn main() -> std::process::ExitCode {
    appropo_cli::main()
}
