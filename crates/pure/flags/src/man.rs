//! Manual pages, written from the same tables as the help.

use crate::table::{Flag, Program, Takes};

/// A program as `man` shows it.
#[derive(Debug)]
pub struct Manual<'a> {
    /// As it is called.
    pub name: &'a str,
    pub version: &'a str,
    /// What it does, in a few words.
    pub purpose: &'a str,
    /// The text above the flags in the help: purpose, usage, explanation.
    pub head: &'a str,
    /// The flags of the program, or those that all of its commands take.
    pub flags: &'a [&'static Flag],
    /// The commands; of flags that all take, only the program tells.
    pub commands: &'a [&'a Program],
    /// The text below the flags in the help.
    pub foot: &'a str,
    /// Pages to read next.
    pub see_also: &'a [&'a str],
}

impl Program {
    /// The manual page of a program without commands. The first line of its help is what it does.
    pub fn man(&self, version: &str, see_also: &[&str]) -> String {
        let manual = Manual {
            name: self.name,
            version,
            purpose: self.head.lines().next().unwrap_or_default(),
            head: self.head,
            flags: self.flags,
            commands: &[],
            foot: self.foot,
            see_also,
        };
        manual.page()
    }
}

impl Manual<'_> {
    /// The page in roff, without a date: the same program gives the same page.
    pub fn page(&self) -> String {
        let Manual {
            name,
            version,
            purpose,
            head,
            foot,
            ..
        } = self;
        let mut page = format!(
            ".\\\" Generated from the flags of {name}; do not edit.\n\
             .TH {} 1 \"\" \"{name} {version}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n",
            escaped(&name.to_uppercase()),
            escaped(name),
            escaped(&lower_first(purpose))
        );
        let mut parts = Parts::of(head);
        page.push_str(".SH SYNOPSIS\n");
        preformatted(&parts.usage, &mut page);
        if !parts.rest.is_empty() {
            page.push_str(".SH DESCRIPTION\n");
            parts.print(&mut page);
        }
        if !self.commands.is_empty() {
            page.push_str(".SH COMMANDS\n");
        }
        for command in self.commands {
            page.push_str(&format!(".SS \"{}\"\n", escaped(command.name)));
            let mut parts = Parts::of(command.head);
            page.push_str(&format!("{}.\n", escaped(parts.purpose)));
            preformatted(&parts.usage, &mut page);
            parts.print(&mut page);
            let is_own =
                |flag: &&&'static Flag| !self.flags.iter().any(|known| known.long == flag.long);
            for flag in command.flags.iter().filter(is_own) {
                describe(flag, &mut page);
            }
            Parts::below(command.foot).print(&mut page);
        }
        if !self.flags.is_empty() {
            page.push_str(match self.commands.is_empty() {
                true => ".SH OPTIONS\n",
                false => ".SH OPTIONS OF EVERY COMMAND\n",
            });
        }
        let mut section = "";
        for flag in self.flags {
            if flag.section != section {
                section = flag.section;
                page.push_str(&format!(".SS \"{}\"\n", escaped(section)));
            }
            describe(flag, &mut page);
        }
        let mut below = Parts::below(foot);
        if !below.rest.is_empty() {
            page.push_str(".SH NOTES\n");
            below.print(&mut page);
        }
        page.push_str(".SH EXIT STATUS\n.TP\n0\nFine.\n.TP\n1\nA problem.\n.TP\n2\nWrong usage.\n");
        if !self.see_also.is_empty() {
            let pages: Vec<String> = self
                .see_also
                .iter()
                .map(|page| format!("\\fB{}\\fR(1)", escaped(page)))
                .collect();
            page.push_str(&format!(".SH SEE ALSO\n{}\n", pages.join(",\n")));
        }
        page
    }
}

/// A text of the help taken apart.
struct Parts<'a> {
    purpose: &'a str,
    /// The lines below `Usage:`.
    usage: Vec<&'a str>,
    /// The paragraphs after them.
    rest: Vec<Vec<&'a str>>,
}

impl<'a> Parts<'a> {
    fn of(head: &'a str) -> Parts<'a> {
        let mut paragraphs = paragraphs(head).into_iter();
        let purpose = paragraphs.next().unwrap_or_default();
        let (mut usage, mut rest) = (Vec::new(), Vec::new());
        for paragraph in paragraphs {
            match paragraph.split_first() {
                Some((&"Usage:", lines)) if usage.is_empty() => usage = lines.to_vec(),
                _ => rest.push(paragraph),
            }
        }
        Parts {
            purpose: purpose.first().copied().unwrap_or_default(),
            usage,
            rest,
        }
    }

    fn below(foot: &'a str) -> Parts<'a> {
        let rest = paragraphs(foot);
        Parts {
            purpose: "",
            usage: Vec::new(),
            rest: rest
                .into_iter()
                // It has a section of its own.
                .filter(|lines| !lines.iter().all(|line| line.starts_with("Exit codes:")))
                .collect(),
        }
    }

    /// Prose flows; what is indented or stands in columns keeps its lines.
    fn print(&mut self, page: &mut String) {
        for lines in &self.rest {
            if lines.iter().any(|line| line.starts_with(' ')) {
                page.push_str(".PP\n");
                preformatted(lines, page);
            } else {
                page.push_str(".PP\n");
                for line in lines.iter().filter(|line| !line.starts_with("Exit codes:")) {
                    page.push_str(&format!("{}\n", escaped(line)));
                }
            }
        }
    }
}

fn paragraphs(text: &str) -> Vec<Vec<&str>> {
    text.split("\n\n")
        .map(|paragraph| paragraph.lines().filter(|line| !line.is_empty()).collect())
        .filter(|lines: &Vec<&str>| !lines.is_empty())
        .collect()
}

fn preformatted(lines: &[&str], page: &mut String) {
    if lines.is_empty() {
        return;
    }
    page.push_str(".nf\n");
    for line in lines {
        page.push_str(&format!("{}\n", escaped(line)));
    }
    page.push_str(".fi\n");
}

fn describe(flag: &Flag, page: &mut String) {
    page.push_str(".TP\n");
    if let Some(short) = flag.short {
        page.push_str(&format!("\\fB\\-{short}\\fR, "));
    }
    page.push_str(&format!("\\fB\\-\\-{}\\fR", escaped(flag.long)));
    match flag.takes {
        Takes::Switch => {}
        Takes::Value(name) => page.push_str(&format!(" \\fI{}\\fR", escaped(name))),
        Takes::Values(name) => page.push_str(&format!(" \\fI{}\\fR...", escaped(name))),
    }
    let help: Vec<&str> = flag.help.split_whitespace().collect();
    page.push_str(&format!(
        "\n{}.\n",
        escaped(help.join(" ").trim_end_matches('.'))
    ));
    if !flag.default.is_empty() {
        page.push_str(&format!("Default: {}.\n", escaped(flag.default)));
    }
    if let Some(env) = flag.env {
        page.push_str(&format!("Environment: \\fB{}\\fR.\n", escaped(env)));
    }
}

/// Text that roff takes for nothing but text.
fn escaped(text: &str) -> String {
    let text = text
        .replace('\\', "\\e")
        .replace('-', "\\-")
        .replace('"', "\\(dq");
    match text.starts_with(['.', '\'']) {
        true => format!("\\&{text}"),
        false => text,
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        // `TURN …` stays.
        Some(first) if !text[first.len_utf8()..].starts_with(|c: char| c.is_uppercase()) => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}
