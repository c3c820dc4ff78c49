#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_replay::auth_query(data));
