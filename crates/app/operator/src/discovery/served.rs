//! The parts of the API that not every cluster has.

use std::fmt;

use kube::core::ApiResource;
use stunner_translate::GatewayApi;

/// What of the Gateway API is installed, in which version.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Served {
    /// GatewayClass and Gateway, `v1`. Without them there is nothing to do yet.
    pub gateways: bool,
    pub udp_routes: Option<ApiResource>,
    pub tcp_routes: Option<ApiResource>,
    pub reference_grants: Option<ApiResource>,
    /// `status.supportedFeatures` of GatewayClass can be stored, as a list of objects.
    pub supported_features: bool,
    /// The release that the CRDs are from.
    pub bundle: Option<String>,
}

impl Served {
    pub fn gateway_api(&self) -> GatewayApi {
        GatewayApi {
            supported_features: self.supported_features,
            tcp_routes: self.tcp_routes.is_some(),
            official_udp_routes: self.udp_routes.is_some(),
        }
    }
}

impl fmt::Display for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.gateways {
            return f.write_str("no Gateway API v1");
        }
        write!(f, "Gateway API {}", self.bundle.as_deref().unwrap_or("v1"))?;
        let kinds = [&self.udp_routes, &self.tcp_routes, &self.reference_grants];
        for resource in kinds.into_iter().flatten() {
            write!(f, ", {} {}", resource.kind, resource.version)?;
        }
        Ok(())
    }
}
