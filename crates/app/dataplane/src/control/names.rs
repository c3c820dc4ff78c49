//! Numbers for names: listeners and clusters keep their number for the life of the process, so that
//! metrics never go backwards when something is removed and comes again.

use std::sync::Arc;

use stunner_config::admission::ClusterId;
use stunner_telemetry::metrics::Stunnerd;
use stunner_turn::ListenerId;

/// All names this process has ever had, in the order of their numbers.
#[derive(Debug)]
pub struct Names {
    metrics: Stunnerd,
    listeners: Vec<Arc<str>>,
    clusters: Vec<Arc<str>>,
}

impl Names {
    pub fn new(metrics: Stunnerd) -> Self {
        Self {
            metrics,
            listeners: Vec::new(),
            clusters: Vec::new(),
        }
    }

    pub fn listener(&mut self, name: &str) -> ListenerId {
        let index = self.metrics.listener(name).0;
        remember(&mut self.listeners, index, name);
        ListenerId(index)
    }

    pub fn cluster(&mut self, name: &str) -> ClusterId {
        let index = self.metrics.cluster(name).0;
        remember(&mut self.clusters, index, name);
        ClusterId(index)
    }

    pub fn listener_name(&self, id: ListenerId) -> Arc<str> {
        name_of(&self.listeners, id.0)
    }

    pub fn cluster_name(&self, id: ClusterId) -> Arc<str> {
        name_of(&self.clusters, id.0)
    }
}

fn remember(names: &mut Vec<Arc<str>>, index: u32, name: &str) {
    if names.len() == index as usize {
        names.push(name.into());
    }
}

fn name_of(names: &[Arc<str>], index: u32) -> Arc<str> {
    names
        .get(index as usize)
        .cloned()
        .unwrap_or_else(|| "unknown".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_number() {
        let mut names = Names::new(Stunnerd::new(1, "test"));
        let first = names.listener("a");
        let second = names.listener("b");
        assert_ne!(first, second);
        assert_eq!(names.listener("a"), first);
        assert_eq!(&*names.listener_name(second), "b");
    }
}
