//! The Service of a Gateway, as if a load balancer had fulfilled it that can do what this host can.

use std::net::IpAddr;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{
    LoadBalancerIngress, LoadBalancerStatus, Service, ServiceSpec, ServiceStatus,
};
use stunner_api::names::annotation::ENABLE_MIXED_PROTOCOL_LB;
use stunner_translate::Object;

/// An object as it is on this host. Few load balancers take UDP and TCP on one address, so that in a cluster a Gateway
/// has to ask for it; a host takes both.
pub fn on_host(mut object: Object) -> Object {
    if let Object::Gateway(gateway) = &mut object {
        let annotations = &mut Arc::make_mut(gateway).metadata.annotations;
        let mixed = annotations
            .get_or_insert_default()
            .entry(ENABLE_MIXED_PROTOCOL_LB.to_owned())
            .or_default();
        // What is neither yes nor no is still to be told about.
        if mixed.is_empty() || mixed == "false" {
            *mixed = "true".to_owned();
        }
    }
    object
}

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
