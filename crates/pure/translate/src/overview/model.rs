//! What the overview is made of. The names of the fields are those of the console's API.

use serde::Serialize;

/// The gateway hierarchy: class, gateways, listeners, routes, backends.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    /// The classes of ours, by name.
    pub classes: Vec<ClassOverview>,
    /// The Gateways of ours, by namespace and name.
    pub gateways: Vec<GatewayOverview>,
    /// The routes that name a Gateway of ours, by namespace and name.
    pub routes: Vec<RouteOverview>,
}

/// A condition as `kubectl describe` shows it, without times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConditionOverview {
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    pub reason: String,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClassOverview {
    pub name: String,
    /// `spec.controllerName`.
    pub controller: String,
    /// `spec.parametersRef`, with defaults filled in.
    pub parameters: Option<ParametersOverview>,
    pub conditions: Vec<ConditionOverview>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ParametersOverview {
    pub kind: String,
    pub namespace: String,
    pub name: String,
    /// There is such a GatewayConfig.
    pub found: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewayOverview {
    /// `namespace/name`.
    pub id: String,
    pub namespace: String,
    pub name: String,
    pub class: String,
    pub conditions: Vec<ConditionOverview>,
    /// The public addresses, IP addresses and host names.
    pub addresses: Vec<String>,
    /// In the order of the spec.
    pub listeners: Vec<ListenerOverview>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListenerOverview {
    /// `namespace/gateway/listener`: the label of its metrics, and its name in the dataplane.
    pub id: String,
    pub name: String,
    /// As the spec has it.
    pub protocol: String,
    /// `port` of the spec.
    pub port: i32,
    /// Where clients reach it; `None` while that is not known.
    pub public_address: Option<String>,
    pub public_port: Option<u16>,
    /// The URI that clients are told (RFC 7065), without credentials; `None` while the public address is not known.
    pub uri: Option<String>,
    /// It is in the dataplane's configuration.
    pub served: bool,
    pub conditions: Vec<ConditionOverview>,
    /// How many routes it takes.
    pub attached_routes: usize,
    /// Which they are: `id` of [`RouteOverview`].
    pub routes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RouteOverview {
    /// `kind.group/namespace/name`: unique among routes.
    pub id: String,
    pub kind: String,
    pub group: String,
    pub namespace: String,
    pub name: String,
    /// The name of its cluster in the dataplane: the label of its metrics. `None` for a route that is masked by
    /// another one.
    pub cluster: Option<String>,
    /// Those parents that are Gateways of ours, or that do not exist, as the spec has them.
    pub parents: Vec<ParentOverview>,
    /// In the order of the spec.
    pub backends: Vec<BackendOverview>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ParentOverview {
    /// `namespace/name` of the Gateway.
    pub gateway: String,
    /// `sectionName`, where the parentRef has one.
    pub listener: Option<String>,
    /// `port`, where the parentRef has one.
    pub port: Option<i32>,
    /// The listeners, by name, that take the route by this parentRef.
    pub taken_by: Vec<String>,
    pub conditions: Vec<ConditionOverview>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BackendOverview {
    pub kind: String,
    pub namespace: String,
    pub name: String,
    /// `first-last` of the ports that clients may reach; `None` where they make no sense.
    pub ports: Option<String>,
    /// How many endpoints or prefixes it stands for; cluster IPs do not count.
    pub endpoints: usize,
    /// The domain names it stands for.
    pub names: Vec<String>,
    /// Clients can reach it: nothing is wrong with the reference.
    pub resolved: bool,
    /// What is to be said about it; empty when all is well.
    pub message: String,
}
