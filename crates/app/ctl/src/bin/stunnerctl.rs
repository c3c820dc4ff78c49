//! The `stunnerctl` program.

fn main() -> std::process::ExitCode {
    stunnerctl::cli::main()
}
