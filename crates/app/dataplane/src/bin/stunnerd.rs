//! The `stunnerd` program.

fn main() -> std::process::ExitCode {
    stunner_dataplane::runtime::main()
}
