//! Relay address discovery: a dataplane that names its node is told that node's external address.

use cluster_tests::{Cluster, GatewayApi, eventually, need};
use serde_json::{Value, json};

use crate::site::{Site, same};

#[tokio::test]
async fn a_dataplane_is_told_the_external_address_of_its_node() {
    let test = "a_dataplane_is_told_the_external_address_of_its_node";
    // Nodes have no namespace, and others of this binary count on there being none.
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let site = Site::new(&cluster, "nodes").await;
    let objects = cluster.objects().await;
    objects
        .set_node(
            "node-1",
            &[("InternalIP", "10.0.0.1"), ("ExternalIP", "203.0.113.1")],
        )
        .await;
    objects
        .set_node("node-2", &[("InternalIP", "10.0.0.2")])
        .await;
    let mut gateway = site.gateway("gw");
    gateway["metadata"]["annotations"] =
        json!({ "stunner.l7mp.io/enable-relay-address-discovery": "true" });
    site.apply(gateway).await;
    let operator = site.operator(&cluster).await;
    let cds = operator.cds();
    let address = |node: &str| {
        let (status, body) = cds
            .get(&format!("/api/v1/configs/nodes/gw?node={node}"))
            .map_err(|error| error.to_string())?;
        if status != 200 {
            return Err(format!("{status}: {body}"));
        }
        let config = serde_json::from_str::<Value>(&body).map_err(|error| error.to_string())?;
        Ok(config["listeners"][0]["address"].clone())
    };
    let told = async |node: &str, wanted: &str| {
        eventually(&format!("{node} is told {wanted}"), async || {
            same(&address(node)?, wanted)
        })
        .await;
    };
    told("node-1", "203.0.113.1").await;
    told("node-2", "$STUNNER_ADDR").await;
    told("no-such-node", "$STUNNER_ADDR").await;

    // Those that watch are told again when the node's address changes.
    let watch = cds.watch_node("/api/v1/configs/nodes/gw", "node-1").await;
    objects
        .set_node(
            "node-1",
            &[("InternalIP", "10.0.0.1"), ("ExternalIP", "203.0.113.9")],
        )
        .await;
    eventually("a frame with the new address", async || {
        let frame = watch.last().ok_or("no frame")?;
        same(&frame["listeners"][0]["address"], "203.0.113.9")
    })
    .await;
}
