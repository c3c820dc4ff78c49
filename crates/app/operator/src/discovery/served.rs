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

impl Served {
    /// Whether something that was there is missing, or is there in an older version only.
    pub fn lacks_something_of(&self, earlier: &Served) -> bool {
        let kinds = [
            (&earlier.udp_routes, &self.udp_routes),
            (&earlier.tcp_routes, &self.tcp_routes),
            (&earlier.reference_grants, &self.reference_grants),
        ];
        let is_lost = |(earlier, now): &(&Option<ApiResource>, &Option<ApiResource>)| {
            let version = |resource: &ApiResource| resource.version.clone();
            let (earlier, now) = (earlier.as_ref().map(version), now.as_ref().map(version));
            // Only `v1` is better than another version.
            earlier.is_some() && now != earlier && now.as_deref() != Some("v1")
        };
        kinds.iter().any(is_lost)
            || (earlier.gateways && !self.gateways)
            || (earlier.supported_features && !self.supported_features)
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

#[cfg(test)]
mod tests {
    use kube::core::GroupVersionKind;
    use stunner_api::names;

    use super::*;

    fn routes(version: &str) -> Served {
        let kind = GroupVersionKind::gvk(names::GATEWAY_GROUP, version, names::UDP_ROUTE_KIND);
        Served {
            gateways: true,
            udp_routes: Some(ApiResource::from_gvk(&kind)),
            ..Served::default()
        }
    }

    #[test]
    fn losses_are_told_from_gains() {
        let none = Served {
            gateways: true,
            ..Served::default()
        };
        let (old, new) = (routes("v1alpha2"), routes("v1"));
        for (earlier, now, lost) in [
            (&none, &new, false),
            (&old, &new, false),
            (&new, &new, false),
            (&new, &none, true),
            (&new, &old, true),
            (&old, &none, true),
            (&none, &Served::default(), true),
        ] {
            assert_eq!(now.lacks_something_of(earlier), lost, "{earlier} -> {now}");
        }
    }
}
