//! Completion for fish.

use super::{Completion, Values, gist, identifier, values};
use crate::table::Flag;

pub(super) fn script(completion: &Completion<'_>) -> String {
    let Completion {
        program,
        flags,
        commands,
    } = completion;
    let mut text = format!(
        "# Completion of {program} for fish. Load it with: {program} completion fish | source\n"
    );
    if commands.is_empty() {
        for flag in flags.iter() {
            text.push_str(&line(program, None, flag));
        }
        return text;
    }
    // Fish's own `__fish_seen_subcommand_from` would take the value of a flag for a command.
    let function = format!("{}_at", identifier(program));
    let valued: Vec<String> = completion
        .all_flags()
        .into_iter()
        .filter(|flag| values(flag).is_some())
        .flat_map(super::spellings)
        .collect();
    text.push_str(&format!(
        "# Whether the command on the line is one of these; without any, whether there is none yet.\n\
         function {function}\n\
        \x20   set -l found\n\
        \x20   set -l skip no\n\
        \x20   for word in (commandline -opc)[2..-1]\n\
        \x20       if test $skip = yes\n\
        \x20           set skip no\n\
        \x20           continue\n\
        \x20       end\n\
        \x20       switch $word\n\
        \x20           case {}\n\
        \x20               set skip yes\n\
        \x20           case '-*'\n\
        \x20           case '*'\n\
        \x20               set found $word\n\
        \x20               break\n\
        \x20       end\n\
        \x20   end\n\
        \x20   if set -q argv[1]\n\
        \x20       contains -- \"$found\" $argv\n\
        \x20   else\n\
        \x20       test -z \"$found\"\n\
        \x20   end\n\
         end\n\
         complete -c {program} -f\n",
        valued.join(" ")
    ));
    let none = function.clone();
    for flag in flags.iter() {
        text.push_str(&line(program, Some(&none), flag));
    }
    for command in commands.iter() {
        text.push_str(&format!(
            "complete -c {program} -n {} -a {} -d {}\n",
            quoted(&none),
            command.name,
            quoted(command.summary)
        ));
    }
    for command in commands.iter() {
        let names = command.names().join(" ");
        let here = format!("{function} {names}");
        for flag in command.flags {
            text.push_str(&line(program, Some(&here), flag));
        }
        if !command.arguments.is_empty() {
            text.push_str(&format!(
                "complete -c {program} -n {} -a {}\n",
                quoted(&here),
                quoted(&command.arguments.join(" "))
            ));
        }
    }
    text
}

fn line(program: &str, condition: Option<&str>, flag: &Flag) -> String {
    let mut text = format!("complete -c {program}");
    if let Some(condition) = condition {
        text.push_str(&format!(" -n {}", quoted(condition)));
    }
    text.push_str(&format!(" -l {}", flag.long));
    if let Some(short) = flag.short {
        text.push_str(&format!(" -s {short}"));
    }
    match values(flag) {
        None => {}
        Some(Values::Words(words)) => {
            text.push_str(&format!(" -x -a {}", quoted(&words.join(" "))));
        }
        Some(Values::Files) => text.push_str(" -r -F"),
        Some(Values::Folders) => text.push_str(" -x -a '(__fish_complete_directories)'"),
        Some(Values::Any) => text.push_str(" -x"),
    }
    text.push_str(&format!(" -d {}\n", quoted(&gist(flag))));
    text
}

/// In fish only quotes and backslashes mean something between single quotes.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
