//! Completion for zsh.

use super::{Completion, Values, gist, identifier, values};
use crate::table::{Flag, Takes};

pub(super) fn script(completion: &Completion<'_>) -> String {
    let Completion {
        program,
        flags,
        commands,
    } = completion;
    let function = identifier(program);
    let mut text = format!(
        "#compdef {program}\n\
         # Completion of {program} for zsh. Load it with: source <({program} completion zsh)\n\
         # or write it to a file named {function} in a folder of $fpath.\n\
         {function}() {{\n"
    );
    if commands.is_empty() {
        text.push_str("    _arguments -s");
        for flag in flags.iter() {
            text.push_str(&format!(" \\\n        {}", spec(flag)));
        }
        text.push_str(" \\\n        '*: :_files'\n");
    } else {
        text.push_str(
            "    local curcontext=$curcontext state line\n    typeset -A opt_args\n    _arguments -s -C",
        );
        for flag in flags.iter() {
            text.push_str(&format!(" \\\n        {}", spec(flag)));
        }
        text.push_str(
            " \\\n        '1: :->command' \\\n        '*:: :->arguments'\n    case $state in\n    command)\n        local -a commands=(\n",
        );
        for command in commands.iter() {
            let described = format!("{}:{}", command.name, command.summary);
            text.push_str(&format!("            {}\n", quoted(&described)));
        }
        text.push_str("        )\n        _describe -t commands command commands ;;\n    arguments)\n        case $line[1] in\n");
        for command in commands.iter() {
            text.push_str(&format!(
                "        {})\n            _arguments -s",
                command.names().join("|")
            ));
            for flag in command.flags {
                text.push_str(&format!(" \\\n                {}", spec(flag)));
            }
            let arguments = match command.arguments {
                [] => "'*: :'".to_owned(),
                words => format!("'*: :({})'", words.join(" ")),
            };
            text.push_str(&format!(" \\\n                {arguments} ;;\n"));
        }
        text.push_str("        esac ;;\n    esac\n");
    }
    text.push_str(&format!(
        "}}\n\
         # Called as a file of $fpath it is the function itself; sourced, it makes it known.\n\
         if [[ $funcstack[1] == {function} ]]; then {function} \"$@\"; else compdef {function} {program}; fi\n"
    ));
    text
}

/// A flag as `_arguments` describes it.
fn spec(flag: &Flag) -> String {
    let several = matches!(flag.takes, Takes::Values(_));
    let described = format!("[{}]", escaped(&gist(flag)));
    let value = match values(flag) {
        None => String::new(),
        Some(Values::Words(words)) => format!(":value:({})", words.join(" ")),
        Some(Values::Files) => ":file:_files".to_owned(),
        Some(Values::Folders) => ":folder:_files -/".to_owned(),
        Some(Values::Any) => ":value: ".to_owned(),
    };
    // `--flag=value` and `--flag value` both.
    let equals = if value.is_empty() { "" } else { "=" };
    let rest = quoted(&format!("{described}{value}"));
    let long = format!("--{}{equals}", flag.long);
    let star = if several { "\\*" } else { "" };
    match flag.short {
        None => format!("{star}{long}{rest}"),
        Some(short) if several => format!("{star}{{-{short},{long}}}{rest}"),
        Some(short) => format!("'(-{short} --{})'{{-{short},{long}}}{rest}", flag.long),
    }
}

/// Brackets and colons mean something to `_arguments`.
fn escaped(text: &str) -> String {
    let mut plain = String::new();
    for c in text.chars() {
        if matches!(c, '[' | ']' | ':' | '\\') {
            plain.push('\\');
        }
        plain.push(c);
    }
    plain
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
