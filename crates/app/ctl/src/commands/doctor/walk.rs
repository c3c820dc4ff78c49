//! The walk as people and programs read it.

use serde_json::{Value, json};

use super::finding::{Finding, Verdict, first_dead};

/// What was looked at, hop by hop.
#[derive(Debug)]
pub(super) struct Walk {
    /// `Gateway media/gw`, or a server.
    pub(super) title: String,
    pub(super) findings: Vec<Finding>,
}

impl Walk {
    pub(super) fn is_dead(&self) -> bool {
        first_dead(&self.findings).is_some()
    }

    /// For programs.
    pub(super) fn value(&self) -> Value {
        let dead = first_dead(&self.findings);
        let warned = self
            .findings
            .iter()
            .any(|finding| finding.verdict == Verdict::Warn);
        let verdict = match (dead, warned) {
            (Some(_), _) => Verdict::Dead,
            (None, true) => Verdict::Warn,
            (None, false) => Verdict::Ok,
        };
        let (kind, name) = self.title.split_once(' ').unwrap_or(("", &self.title));
        json!({
            kind.to_ascii_lowercase(): name,
            "verdict": verdict,
            "deadHop": dead.map(|finding| finding.hop.as_str()),
            "findings": self.findings,
        })
    }

    /// For people: a line per hop, then what to do.
    pub(super) fn text(&self, colours: bool) -> String {
        let mut text = format!("{}\n", self.title);
        let first = first_dead(&self.findings).map(std::ptr::from_ref);
        for finding in &self.findings {
            let mark = match first == Some(std::ptr::from_ref(finding)) {
                true => "  <-- the way ends here",
                false => "",
            };
            let word = painted(finding.verdict, colours);
            text.push_str(&format!(
                "  {word}  {:<11}  {}{mark}\n",
                finding.hop.as_str(),
                finding.what
            ));
        }
        text.push('\n');
        text.push_str(&self.conclusion());
        text
    }

    fn conclusion(&self) -> String {
        let Some(dead) = first_dead(&self.findings) else {
            let mut text = match self
                .findings
                .iter()
                .filter(|it| it.verdict == Verdict::Warn)
                .count()
            {
                0 => "No hop is dead.\n".to_owned(),
                1 => "No hop is dead; one needs attention.\n".to_owned(),
                count => format!("No hop is dead; {count} need attention.\n"),
            };
            self.others(None, &mut text);
            return text;
        };
        let mut text = format!(
            "Clients get no further than `{}`: {}.\n",
            dead.hop.as_str(),
            dead.what
        );
        explain(dead, "  ", &mut text);
        self.others(Some(dead), &mut text);
        text
    }

    /// What else is to be said: it may go away with the first.
    fn others(&self, dead: Option<&Finding>, text: &mut String) {
        let dead = dead.map(std::ptr::from_ref);
        let others = self.findings.iter().filter(|finding| {
            let says_something = finding.why.is_some() || finding.hint.is_some();
            finding.verdict != Verdict::Ok
                && says_something
                && dead != Some(std::ptr::from_ref(*finding))
        });
        for finding in others {
            text.push_str(&format!(
                "{} {}: {}\n",
                word(finding.verdict).trim(),
                finding.hop.as_str(),
                finding.what
            ));
            explain(finding, "  ", text);
        }
    }
}

fn explain(finding: &Finding, indent: &str, text: &mut String) {
    for (word, said) in [("why: ", &finding.why), ("hint:", &finding.hint)] {
        if let Some(said) = said {
            text.push_str(&format!("{indent}{word} {said}\n"));
        }
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Ok => "ok  ",
        Verdict::Warn => "warn",
        Verdict::Dead => "DEAD",
        Verdict::Skipped => "-   ",
    }
}

fn painted(verdict: Verdict, colours: bool) -> String {
    let word = word(verdict);
    let colour = match verdict {
        Verdict::Ok => 32,
        Verdict::Warn => 33,
        Verdict::Dead => 31,
        Verdict::Skipped => 90,
    };
    match colours {
        true => format!("\x1b[{colour}m{word}\x1b[0m"),
        false => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Hop;
    use super::*;

    fn walk() -> Walk {
        Walk {
            title: "Gateway media/gw".to_owned(),
            findings: vec![
                Finding::ok(Hop::Class, "GatewayClass stunner is accepted"),
                Finding::warn(Hop::Pods, "1 of 2 pods ready")
                    .why("gw-2: CrashLoopBackOff")
                    .hint("see its log"),
                Finding::dead(Hop::Address, "the load balancer has given no address")
                    .why("nobody has answered")
                    .hint("install MetalLB"),
                Finding::skipped(Hop::Stun, "no address to send anything to"),
            ],
        }
    }

    #[test]
    fn the_first_dead_hop_is_marked_and_explained() {
        assert_eq!(
            walk().text(false),
            "\
Gateway media/gw
  ok    class        GatewayClass stunner is accepted
  warn  pods         1 of 2 pods ready
  DEAD  address      the load balancer has given no address  <-- the way ends here
  -     stun         no address to send anything to

Clients get no further than `address`: the load balancer has given no address.
  why:  nobody has answered
  hint: install MetalLB
warn pods: 1 of 2 pods ready
  why:  gw-2: CrashLoopBackOff
  hint: see its log
"
        );
    }

    #[test]
    fn programs_get_the_dead_hop_by_name() {
        let value = walk().value();
        assert_eq!(value["gateway"], "media/gw");
        assert_eq!(value["verdict"], "dead");
        assert_eq!(value["deadHop"], "address");
        assert_eq!(value["findings"][1]["verdict"], "warn");
        assert_eq!(value["findings"][2]["hop"], "address");
    }

    #[test]
    fn a_walk_without_a_dead_hop_says_so() {
        let mut walk = walk();
        walk.findings.truncate(1);
        assert!(!walk.is_dead());
        assert!(walk.text(false).ends_with("\n\nNo hop is dead.\n"));
        assert_eq!(walk.value()["deadHop"], Value::Null);
        assert_eq!(walk.value()["verdict"], "ok");
    }
}
