//! The `icetester` program.

fn main() -> std::process::ExitCode {
    icetester::cli::main()
}
