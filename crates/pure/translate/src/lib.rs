//! Gateway API objects in, dataplane configurations, workloads and statuses out.
