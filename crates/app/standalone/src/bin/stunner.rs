//! The `stunner` program.

fn main() -> std::process::ExitCode {
    stunner_standalone::cli::main()
}
