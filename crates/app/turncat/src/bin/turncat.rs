//! The `turncat` program.

fn main() -> std::process::ExitCode {
    turncat::run::main()
}
