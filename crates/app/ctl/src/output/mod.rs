//! Where results go, and in which form: data on standard output, everything else on standard error.

pub(crate) mod document;
mod form;
pub(crate) mod numbers;
mod yaml;

pub(crate) use form::{Form, Machine};

use std::fmt;
use std::io::{self, IsTerminal, Write};

use serde_json::Value;

use crate::failure::Failure;

/// The two streams of the program; in tests, two buffers.
pub(crate) struct Output<'a> {
    data: Box<dyn Write + Send + 'a>,
    notes: Box<dyn Write + Send + 'a>,
    /// Whether a person looks at the data, so that screens may be drawn and colours used.
    is_terminal: bool,
    /// Values printed so far.
    values: usize,
}

impl fmt::Debug for Output<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output")
            .field("is_terminal", &self.is_terminal)
            .finish_non_exhaustive()
    }
}

impl<'a> Output<'a> {
    pub(crate) fn of_process() -> Output<'static> {
        Output {
            data: Box::new(io::stdout()),
            notes: Box::new(io::stderr()),
            is_terminal: io::stdout().is_terminal(),
            values: 0,
        }
    }

    #[cfg(test)]
    pub(crate) fn to(data: impl Write + Send + 'a, notes: impl Write + Send + 'a) -> Output<'a> {
        Output {
            data: Box::new(data),
            notes: Box::new(notes),
            is_terminal: false,
            values: 0,
        }
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Prints a result as it is, and at once: what follows may take a while.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        let written = self
            .data
            .write_all(text.as_bytes())
            .and_then(|()| self.data.flush());
        written.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ReaderGone,
            // A full disk: what it holds would look like the whole.
            _ => Failure::new(
                format!("cannot write to standard output: {error}"),
                "the result is not complete; make room, or write it elsewhere",
            ),
        })
    }

    /// Prints a value for programs. Several YAML documents are told apart by `---`.
    pub(crate) fn value(&mut self, form: &Machine, value: &Value) -> Result<(), Failure> {
        let text = form.render(value)?;
        if matches!(form, Machine::Yaml) && self.values > 0 {
            self.text("---\n")?;
        }
        self.values += 1;
        self.text(&text)
    }

    /// Tells something that is not the result, such as progress or a warning. That nobody listens is no problem.
    pub(crate) fn note(&mut self, text: &str) {
        let _ = writeln!(self.notes, "{text}").and_then(|()| self.notes.flush());
    }

    /// Tells about a failure that does not end the command, such as one pod of several that does not answer.
    pub(crate) fn report(&mut self, failure: &Failure) {
        let _ = self
            .notes
            .write_all(failure.report().as_bytes())
            .and_then(|()| self.notes.flush());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn printed(form: &Machine) -> String {
        let mut data = Vec::new();
        let mut out = Output::to(&mut data, io::sink());
        for value in [json!({"b": "<1>", "a": [true]}), json!({"b": "x", "a": []})] {
            out.value(form, &value).expect("printed");
        }
        drop(out);
        String::from_utf8(data).expect("text")
    }

    #[test]
    fn json_is_a_line_each_with_the_escapes_of_go() {
        assert_eq!(
            printed(&Machine::Json),
            "{\"b\":\"\\u003c1\\u003e\",\"a\":[true]}\n{\"b\":\"x\",\"a\":[]}\n"
        );
    }

    #[test]
    fn yaml_documents_are_told_apart_and_their_keys_sorted() {
        assert_eq!(
            printed(&Machine::Yaml),
            "a:\n- true\nb: <1>\n---\na: []\nb: x\n"
        );
    }
}
