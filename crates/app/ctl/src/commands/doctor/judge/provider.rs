//! What is known about the load balancers of cloud providers.
//!
//! Nodes say where they run: `spec.providerID` begins with the provider's scheme. What is said here is what people who
//! ran UDP services there had to find out.

use std::collections::BTreeMap;

/// Where a cluster runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands::doctor) enum Provider {
    Aws,
    Azure,
    Google,
    Hetzner,
    DigitalOcean,
    /// OVH and others with OpenStack below.
    OpenStack,
    Scaleway,
    Linode,
    Kind,
    Minikube,
    /// k3s brings a load balancer of its own.
    K3s,
}

/// What a Service asks of its load balancer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) annotations: &'a BTreeMap<String, String>,
    pub(super) has_class: bool,
    pub(super) udp: bool,
    pub(super) tcp: bool,
}

impl Asked<'_> {
    fn has(&self, part: &str) -> bool {
        self.annotations.keys().any(|key| key.contains(part))
    }
}

impl Provider {
    /// From a node's `providerID` and name.
    pub(in crate::commands::doctor) fn of(provider_id: &str, node: &str) -> Option<Provider> {
        let scheme = provider_id.split("://").next().unwrap_or_default();
        Some(match scheme {
            "aws" => Provider::Aws,
            "azure" => Provider::Azure,
            "gce" => Provider::Google,
            "hcloud" => Provider::Hetzner,
            "digitalocean" => Provider::DigitalOcean,
            "openstack" => Provider::OpenStack,
            "scaleway" => Provider::Scaleway,
            "linode" => Provider::Linode,
            "kind" => Provider::Kind,
            "k3s" => Provider::K3s,
            _ if node == "minikube" || node.starts_with("minikube-") => Provider::Minikube,
            _ => return None,
        })
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Provider::Aws => "AWS",
            Provider::Azure => "Azure",
            Provider::Google => "Google Cloud",
            Provider::Hetzner => "Hetzner Cloud",
            Provider::DigitalOcean => "DigitalOcean",
            Provider::OpenStack => "OpenStack (OVH and others)",
            Provider::Scaleway => "Scaleway",
            Provider::Linode => "Linode",
            Provider::Kind => "kind",
            Provider::Minikube => "minikube",
            Provider::K3s => "k3s",
        }
    }

    /// What to do when the load balancer gives no address.
    pub(super) fn pending(self, asked: Asked<'_>) -> String {
        let mixed = asked.udp && asked.tcp;
        match self {
            Provider::Aws if !asked.has("aws-load-balancer-type") && !asked.has_class => {
                "only an NLB takes UDP: install the AWS Load Balancer Controller and set on the Gateway the annotations \
                 `service.beta.kubernetes.io/aws-load-balancer-type: external`, `…/aws-load-balancer-nlb-target-type: ip` and \
                 `…/aws-load-balancer-scheme: internet-facing`"
            }
            Provider::Aws if mixed => {
                "UDP and TCP on the same port need a TCP_UDP listener, which older versions of the AWS Load Balancer Controller do not make: use different ports, or a Gateway for each transport"
            }
            Provider::Aws => {
                "see the log of the AWS Load Balancer Controller: subnets need the tag `kubernetes.io/role/elb`, its role the right to make load balancers"
            }
            Provider::Azure => {
                "see `kubectl describe service` for Azure's error: most often a quota of public addresses, or a `loadBalancerIP` outside the node resource group"
            }
            Provider::Google if mixed => {
                "UDP and TCP by one Service need GKE 1.34 or newer and `cloud.google.com/l4-rbs: enabled` on the Gateway; else use a Gateway for each transport"
            }
            Provider::Google => {
                "see `kubectl describe service`: most often a quota of forwarding rules, or a reserved address of another region"
            }
            Provider::Hetzner if asked.udp => {
                "Hetzner's load balancers carry no UDP: set `stunner.l7mp.io/service-type: NodePort` on the Gateway and open the node port \
                 in the firewall, or use a TURN-TCP or TURN-TLS listener"
            }
            Provider::Hetzner => {
                "set `load-balancer.hetzner.cloud/location` (such as nbg1) on the Gateway; without it no load balancer is made"
            }
            Provider::DigitalOcean if mixed => {
                "if the load balancer refuses UDP and TCP together, use different ports, or a Gateway for each transport"
            }
            Provider::DigitalOcean => {
                "a load balancer for UDP needs a health check over TCP: set `service.beta.kubernetes.io/do-loadbalancer-healthcheck-port: \"8086\"` \
                 and `…/do-loadbalancer-healthcheck-protocol: http` on the Gateway"
            }
            Provider::OpenStack => {
                "Octavia needs a flavour or provider that takes UDP; if it refuses session affinity, set \
                 `stunner.l7mp.io/disable-session-affinity: \"true\"` on the Gateway"
            }
            Provider::Scaleway => {
                "Scaleway's load balancers carry no UDP: set `stunner.l7mp.io/service-type: NodePort` on the Gateway, or use a TURN-TCP or TURN-TLS listener"
            }
            Provider::Linode => {
                "see the log of the cloud controller manager; older NodeBalancers carry no UDP: then set `stunner.l7mp.io/service-type: NodePort` on the Gateway"
            }
            Provider::Kind => {
                "kind has no load balancers: run `cloud-provider-kind` or install MetalLB, or set `stunner.l7mp.io/service-type: NodePort` on the Gateway"
            }
            Provider::Minikube => {
                "run `minikube tunnel` in another terminal, or enable its MetalLB (`minikube addons enable metallb`)"
            }
            Provider::K3s => {
                "k3s' ServiceLB needs the port free on a node: see the pods `svclb-…` in kube-system"
            }
        }
        .to_owned()
    }

    /// What to look at when there is an address and nobody answers there.
    pub(super) fn silent(self, asked: Asked<'_>) -> Option<&'static str> {
        Some(match self {
            Provider::Aws
                if asked.has("aws-load-balancer-type")
                    && !asked.has("aws-load-balancer-scheme") =>
            {
                "an NLB is internal unless `service.beta.kubernetes.io/aws-load-balancer-scheme: internet-facing` is set on the Gateway"
            }
            Provider::Aws if asked.udp && !asked.has("healthcheck-port") => {
                "an NLB sends UDP only to targets that pass a health check over TCP, and the TURN port does not: set \
                 `service.beta.kubernetes.io/aws-load-balancer-healthcheck-port: \"8086\"` and `…-healthcheck-protocol: http` on the Gateway"
            }
            Provider::Aws => {
                "look at the health of the NLB's targets, and let the port through the nodes' security group"
            }
            Provider::Azure => {
                "let the port through the network security group of the nodes, and look at the health probe of the load balancer"
            }
            Provider::Google => {
                "let the port through the VPC's firewall rules, and look at the health of the backend service"
            }
            Provider::Hetzner => "let the port through the firewall of the servers, UDP too",
            Provider::DigitalOcean if asked.udp && !asked.has("healthcheck") => {
                "a load balancer for UDP needs a health check over TCP: set `service.beta.kubernetes.io/do-loadbalancer-healthcheck-port: \"8086\"` \
                 and `…-protocol: http` on the Gateway"
            }
            Provider::OpenStack => {
                "look at the health monitor of the Octavia pool, and let the node port through the security group"
            }
            Provider::Minikube => "is `minikube tunnel` running?",
            Provider::Kind => {
                "with kind, is the port mapped (`extraPortMappings`), or `cloud-provider-kind` running?"
            }
            Provider::DigitalOcean | Provider::Scaleway | Provider::Linode | Provider::K3s => {
                return None;
            }
        })
    }
}
