use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use super::line::{self, Head};
use super::scope::{CodeScope, Scope};
use super::writer::Queue;
use super::{Format, LogSpec};

/// Turns events into log lines.
pub struct LogLayer {
    format: Format,
    spec: Arc<ArcSwap<LogSpec>>,
    queue: Queue,
}

impl LogLayer {
    pub(super) fn new(format: Format, spec: Arc<ArcSwap<LogSpec>>, queue: Queue) -> Self {
        LogLayer {
            format,
            spec,
            queue,
        }
    }

    /// Whether events of this call site can be shown under the present spec, whatever their scope turns out to be.
    fn wants(&self, metadata: &Metadata<'_>) -> bool {
        if !metadata.is_event() {
            return false;
        }
        let spec = self.spec.load();
        let level = if metadata.fields().field("scope").is_some() {
            spec.most_detailed()
        } else {
            CodeScope::of(metadata).level(&spec)
        };
        level.shows(metadata.level())
    }
}

impl<S: Subscriber> Layer<S> for LogLayer {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        // The answer is cached per call site until the spec changes, so a silent event costs one load.
        if self.wants(metadata) {
            Interest::always()
        } else {
            Interest::never()
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        self.wants(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.spec.load().most_detailed().filter())
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let scope = scope_of(event);
        if !scope.level(&self.spec.load()).shows(metadata.level())
            || !self.queue.limiter().admit(metadata, scope.name())
        {
            return;
        }
        let head = Head::now(metadata, scope.name());
        self.queue.send(line::of_event(self.format, &head, event));
    }
}

impl fmt::Debug for LogLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogLayer")
            .field("format", &self.format)
            .field("spec", &self.spec.load())
            .finish()
    }
}

fn scope_of<'a>(event: &Event<'a>) -> Scope<'a> {
    let metadata = event.metadata();
    let mut found = ScopeField(None);
    if metadata.fields().field("scope").is_some() {
        event.record(&mut found);
    }
    found
        .0
        .map_or_else(|| Scope::Code(CodeScope::of(metadata)), Scope::Named)
}

struct ScopeField(Option<String>);

impl Visit for ScopeField {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "scope" {
            self.0 = Some(value.to_owned());
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "scope" {
            self.0 = Some(format!("{value:?}"));
        }
    }
}
