//! The Service of a Gateway, as if a load balancer had fulfilled it.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::{
    LoadBalancerIngress, LoadBalancerStatus, Service, ServiceSpec, ServiceStatus,
};

/// The planned Service with this host as its address. Whatever type was asked for, the host is where clients come to,
/// so that to translation it is a load balancer.
pub fn service(planned: &Service, host: IpAddr) -> Service {
    let ingress = LoadBalancerIngress {
        ip: Some(host.to_string()),
        ..LoadBalancerIngress::default()
    };
    Service {
        metadata: planned.metadata.clone(),
        spec: planned.spec.clone().map(|spec| ServiceSpec {
            type_: Some("LoadBalancer".to_owned()),
            ..spec
        }),
        status: Some(ServiceStatus {
            load_balancer: Some(LoadBalancerStatus {
                ingress: Some(vec![ingress]),
            }),
            ..ServiceStatus::default()
        }),
    }
}
