//! What no single document shows: references to nothing, things that are there twice, Secrets that do not hold what is
//! asked of them.
//!
//! Rules are those of translation, told at the place in the file that is to be changed. What translation refuses for a reason
//! that no rule here knows is told at the object ([`conditions`]).

mod annotation;
mod class;
mod conditions;
mod config;
mod dataplane;
mod duplicate;
mod endpoints;
mod findings;
mod gateway;
mod listener;
mod reference;
mod route;
mod secret;
mod static_service;
mod world;

#[cfg(test)]
mod tests;

use stunner_translate::Object;

use crate::problem::Problem;
use crate::reading::Reading;

use findings::Findings;
use world::World;

/// All problems of the files, those of the readings among them, by file and place. Files keep the order of `readings`.
pub fn check(readings: &[Reading]) -> Vec<Problem> {
    let world = World::new(readings);
    let mut findings = Findings::new(readings);
    for manifest in world.manifests() {
        if let Some(first) = world.earlier(manifest) {
            // Nothing comes of the second one, so that nothing more is said about it.
            duplicate::object(&mut findings, first, manifest);
            continue;
        }
        annotation::check(&world, &mut findings, manifest);
        match &manifest.object {
            Object::GatewayClass(class) => class::check(&world, &mut findings, manifest, class),
            Object::GatewayConfig(config) => config::check(&world, &mut findings, manifest, config),
            Object::Gateway(gateway) => gateway::check(&world, &mut findings, manifest, gateway),
            Object::UdpRoute(_) | Object::OfficialUdpRoute(_) | Object::OfficialTcpRoute(_) => {
                route::check(&world, &mut findings, manifest);
            }
            Object::StaticService(service) => {
                static_service::check(&mut findings, manifest, service);
            }
            Object::Dataplane(dataplane) => dataplane::check(&mut findings, manifest, dataplane),
            Object::Secret(secret) => secret::check(&world, &mut findings, manifest, secret),
            Object::Service(service) => {
                endpoints::service(&world, &mut findings, manifest, service);
            }
            Object::EndpointSlice(slice) => {
                endpoints::slice(&world, &mut findings, manifest, slice);
            }
            Object::Endpoints(_) => endpoints::endpoints(&world, &mut findings, manifest),
            Object::ReferenceGrant(grant) => {
                reference::grant(&world, &mut findings, manifest, grant);
            }
            _ => {}
        }
    }
    conditions::check(&world, &mut findings);
    findings.finish()
}
