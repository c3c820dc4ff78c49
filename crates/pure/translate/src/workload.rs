//! The Deployment or DaemonSet of a Gateway.

use crate::context::GatewayContext;
use crate::plan::{Workload, WorkloadKind};

/// What runs the dataplane of a Gateway, and the kinds of which none is to run it any more.
///
/// Both are empty in legacy mode, and where there is no Dataplane to make pods from: what runs goes on running.
pub(crate) fn workloads(context: &GatewayContext<'_>) -> (Vec<Workload>, Vec<WorkloadKind>) {
    let _ = context;
    (Vec::new(), Vec::new())
}
