//! The older version of our custom resources, `stunner.l7mp.io/v1alpha1`.
//!
//! It is served, not stored: the API server changes nothing but `apiVersion` between the versions
//! (conversion strategy `None`). So both have one schema with the fields of both; a field that only
//! one of them knew would be lost on a write through the other.

use crate::object::fixed_object;
use crate::v1::{DataplaneSpec, GatewayConfigSpec, StaticServiceSpec};

fixed_object!(
    /// Settings of all Gateways of a class, most of all how clients authenticate.
    GatewayConfig, "GatewayConfig", "gatewayconfigs", "stunner.l7mp.io", "v1alpha1", NamespaceResourceScope,
    spec: GatewayConfigSpec
);

fixed_object!(
    /// Addresses outside the cluster as a backend of routes.
    StaticService, "StaticService", "staticservices", "stunner.l7mp.io", "v1alpha1", NamespaceResourceScope,
    spec: StaticServiceSpec
);

fixed_object!(
    /// Template of the pods that serve Gateways.
    Dataplane, "Dataplane", "dataplanes", "stunner.l7mp.io", "v1alpha1", ClusterResourceScope,
    spec: DataplaneSpec
);
