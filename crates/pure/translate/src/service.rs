//! The Service that exposes a Gateway.

use k8s_openapi::api::core::v1::Service;

use crate::context::{GatewayContext, ListenerPlan};
use crate::options::ServiceOptions;

/// The Service of a Gateway; `None` when no listener yields a port: a Service without ports cannot exist.
pub(crate) fn service(context: &GatewayContext<'_>) -> Option<Service> {
    let _ = context;
    None
}

/// Sentences about what the Service cannot be made to be.
pub(crate) fn service_problems(context: &GatewayContext<'_>) -> Vec<String> {
    let _ = context;
    Vec::new()
}

/// Which listeners have a port in the Service.
pub(crate) fn exposed(options: &ServiceOptions, listeners: &[ListenerPlan]) -> Vec<bool> {
    let _ = options;
    listeners.iter().map(ListenerPlan::is_served).collect()
}
