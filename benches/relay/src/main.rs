fn main() -> std::process::ExitCode {
    relay_bench::cli::main()
}
