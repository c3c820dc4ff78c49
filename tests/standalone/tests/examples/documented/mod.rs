//! The commands that READMEs and guides show are run, as far as they are ours or coturn's.

mod commands;
mod stunner_lines;
mod uclient_lines;
