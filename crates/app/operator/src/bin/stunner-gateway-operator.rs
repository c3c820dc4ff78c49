//! The `stunner-gateway-operator` program.

fn main() -> std::process::ExitCode {
    stunner_operator::runtime::main()
}
