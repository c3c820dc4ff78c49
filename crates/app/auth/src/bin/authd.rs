//! The `authd` program.

fn main() -> std::process::ExitCode {
    stunner_auth::cli::main()
}
