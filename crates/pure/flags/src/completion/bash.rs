//! Completion for bash. It needs nothing but bash itself, 3.2 and later.

use super::{Completion, Values, identifier, spellings, values};
use crate::table::Flag;

pub(super) fn script(completion: &Completion<'_>) -> String {
    let Completion {
        program,
        flags,
        commands,
    } = completion;
    let function = identifier(program);
    let all = completion.all_flags();
    let mut text = format!(
        "# Completion of {program} for bash. Load it with: source <({program} completion bash)\n\
         {function}() {{\n\
        \x20   local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} command= skip= word i\n\
        \x20   # Bash takes --flag=value apart at the equals sign.\n\
        \x20   if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${{COMP_WORDS[COMP_CWORD-2]}}; fi\n\
        \x20   COMPREPLY=()\n\
        \x20   case $prev in\n"
    );
    for flag in &all {
        if let Some(values) = values(flag) {
            text.push_str(&format!(
                "        {}) {}; return ;;\n",
                pattern(flag),
                reply(&values)
            ));
        }
    }
    text.push_str("    esac\n");
    let words = |flags: &[&'static Flag]| -> String {
        let words = flags.iter().flat_map(|flag| spellings(flag));
        words.collect::<Vec<_>>().join(" ")
    };
    if commands.is_empty() {
        text.push_str(&format!(
            "    if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W '{}' -- \"$cur\")); else compopt -o default 2>/dev/null; fi\n}}\n",
            words(flags)
        ));
    } else {
        let valued: Vec<String> = all
            .iter()
            .filter(|flag| values(flag).is_some())
            .map(|flag| pattern(flag))
            .collect();
        text.push_str(&format!(
            "    # The command is the first word that is neither a flag nor the value of one.\n\
            \x20   for ((i = 1; i < COMP_CWORD; i++)); do\n\
            \x20       word=${{COMP_WORDS[i]}}\n\
            \x20       if [[ $word == = ]]; then skip=1; continue; fi\n\
            \x20       if [[ -n $skip ]]; then skip=; continue; fi\n\
            \x20       case $word in\n\
            \x20           {}) [[ ${{COMP_WORDS[i+1]}} == = ]] || skip=1 ;;\n\
            \x20           -*) ;;\n\
            \x20           *) command=$word; break ;;\n\
            \x20       esac\n\
            \x20   done\n\
            \x20   case $command in\n",
            valued.join("|")
        ));
        let names: Vec<&str> = commands.iter().map(|command| command.name).collect();
        text.push_str(&branch("''", &words(flags), &names.join(" ")));
        for command in commands.iter() {
            text.push_str(&branch(
                &command.names().join("|"),
                &words(command.flags),
                &command.arguments.join(" "),
            ));
        }
        text.push_str("    esac\n}\n");
    }
    text.push_str(&format!("complete -F {function} {program}\n"));
    text
}

fn pattern(flag: &Flag) -> String {
    spellings(flag).join("|")
}

fn branch(pattern: &str, flags: &str, words: &str) -> String {
    format!(
        "        {pattern})\n\
        \x20           if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W '{flags}' -- \"$cur\"))\n\
        \x20           else COMPREPLY=($(compgen -W '{words}' -- \"$cur\")); fi ;;\n"
    )
}

fn reply(values: &Values) -> String {
    match values {
        Values::Words(words) => {
            // After `jsonpath=` no blank: the template follows.
            let open = words.iter().any(|word| word.ends_with('='));
            let no_space = if open {
                " [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null;"
            } else {
                ""
            };
            format!(
                "COMPREPLY=($(compgen -W '{}' -- \"$cur\"));{no_space}",
                words.join(" ")
            )
            .trim_end_matches(';')
            .to_owned()
        }
        Values::Files => {
            "compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$cur\"))".to_owned()
        }
        Values::Folders => {
            "compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- \"$cur\"))".to_owned()
        }
        Values::Any => ":".to_owned(),
    }
}
