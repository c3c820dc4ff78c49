//! One Gateway, from its inputs to its plan.

use std::collections::BTreeMap;

use stunner_api::NamespacedName;
use stunner_api::gateway::{Gateway, GatewayClass};
use stunner_config::{Admin, Config};

use crate::address::public_addresses;
use crate::admin::{admin, make_way_for_listeners};
use crate::attach::{AttachedRoute, attached_routes};
use crate::context::{GatewayContext, ListenerPlan, PublicAddress};
use crate::inputs::{Inputs, Template, Unserved, inputs};
use crate::last_good::{Certificate, LastGood};
use crate::listener::listener_plans;
use crate::options::ServiceOptions;
use crate::ownership::{Ownership, last_good, ownership};
use crate::plan::{GatewayPlan, Workload, WorkloadKind};
use crate::service::{service, service_problems};
use crate::settings::{Mode, Settings};
use crate::snapshot::Snapshot;
use crate::workload::workloads;

pub(crate) mod config;
mod listener_status;
pub(crate) mod status;

/// A Gateway with everything that is known about how it is served.
#[derive(Debug)]
pub(crate) struct Served<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) settings: &'a Settings,
    pub(crate) name: &'a NamespacedName,
    pub(crate) gateway: &'a Gateway,
    pub(crate) inputs: Inputs,
    pub(crate) options: ServiceOptions,
    pub(crate) admin: Admin,
    /// Sentences about settings that cannot be used as they are.
    pub(crate) admin_problems: Vec<String>,
    /// One per listener, as are the addresses.
    pub(crate) listeners: Vec<ListenerPlan>,
    pub(crate) addresses: Vec<Option<PublicAddress>>,
    pub(crate) routes: Vec<AttachedRoute>,
}

/// What is to be for a Gateway; `None` if it does not exist or is not ours.
pub(crate) fn gateway_plan(
    snapshot: &Snapshot,
    settings: &Settings,
    name: &NamespacedName,
) -> Option<GatewayPlan> {
    let (name, gateway) = snapshot.gateways.get_key_value(name)?;
    let uid = gateway.metadata.uid.clone().unwrap_or_default();
    let good = last_good(snapshot, gateway);
    let class = match ownership(snapshot, settings, gateway) {
        Ownership::Ours(class) => Some(class),
        Ownership::ClassGone => None,
        Ownership::NotOurs => return None,
    };
    // Only a Service says that it was ours, and whose class it had nobody knows: hands off, status too.
    if class.is_none() && good.is_none() {
        return Some(GatewayPlan {
            uid,
            config: None,
            workloads: Vec::new(),
            retired: Vec::new(),
            status: None,
            last_good: None,
        });
    }
    Some(match serve(snapshot, settings, name, gateway, class) {
        Ok(served) => served.plan(uid, good),
        Err(problems) => GatewayPlan {
            uid,
            config: None,
            workloads: Vec::new(),
            retired: Vec::new(),
            status: Some(status::unserved(settings, gateway, &problems)),
            last_good: good.cloned(),
        },
    })
}

/// Works out how a Gateway of ours is served. `class` is `None` when it does not exist any more.
pub(crate) fn serve<'a>(
    snapshot: &'a Snapshot,
    settings: &'a Settings,
    name: &'a NamespacedName,
    gateway: &'a Gateway,
    class: Option<&GatewayClass>,
) -> Result<Served<'a>, Unserved> {
    let good = last_good(snapshot, gateway);
    let inputs = inputs(snapshot, settings, gateway, class, good)?;
    let options = ServiceOptions::read(gateway, &inputs.config);
    let none = BTreeMap::new();
    let certificates = good.map_or(&none, |good| &good.certificates);
    let dataplane = inputs.dataplane.spec();
    let (mut admin, mut admin_problems) = admin(
        name.to_string(),
        &inputs.config.spec,
        dataplane,
        settings.mode,
    );
    let listeners = listener_plans(
        snapshot,
        settings,
        gateway,
        &options,
        certificates,
        admin.healthcheck_endpoint.as_ref(),
    );
    admin_problems.extend(make_way_for_listeners(&mut admin, &listeners));
    let mut served = Served {
        snapshot,
        settings,
        name,
        gateway,
        inputs,
        options,
        admin,
        admin_problems,
        listeners,
        addresses: Vec::new(),
        routes: attached_routes(snapshot, gateway),
    };
    served.addresses = public_addresses(&served.context());
    Ok(served)
}

impl<'a> Served<'a> {
    pub(crate) fn context(&self) -> GatewayContext<'_> {
        GatewayContext {
            snapshot: self.snapshot,
            settings: self.settings,
            name: self.name,
            gateway: self.gateway,
            config: &self.inputs.config,
            dataplane: self.inputs.dataplane.spec(),
            options: &self.options,
            listeners: &self.listeners,
        }
    }

    fn plan(&self, uid: String, good: Option<&LastGood>) -> GatewayPlan {
        let mut notices = self.admin_problems.clone();
        notices.extend(service_problems(&self.context()));
        // In legacy mode the class has the configuration.
        let config = (self.settings.mode == Mode::Managed).then(|| Config {
            admin: self.admin.clone(),
            auth: self.inputs.auth.clone(),
            listeners: config::listeners(self),
            clusters: config::clusters([self]),
        });
        let (workloads, retired) = self.workloads();
        GatewayPlan {
            last_good: Some(self.last_good(uid.clone(), good)),
            uid,
            config,
            workloads,
            retired,
            status: Some(status::served(self, notices)),
        }
    }

    fn workloads(&self) -> (Vec<Workload>, Vec<WorkloadKind>) {
        // What is being deleted in the foreground takes its dependents along: nothing is made for it any more.
        if self.gateway.metadata.deletion_timestamp.is_some() {
            return (Vec::new(), Vec::new());
        }
        let context = self.context();
        let (pods, retired) = workloads(&context);
        let service = service(&context).map(|service| Workload::Service(Box::new(service)));
        (service.into_iter().chain(pods).collect(), retired)
    }

    /// What to fall back to: the inputs as they are in use, so that a stale one is carried over.
    fn last_good(&self, gateway_uid: String, before: Option<&LastGood>) -> LastGood {
        let certificates: BTreeMap<String, Certificate> = self
            .listeners
            .iter()
            .filter_map(|plan| Some((plan.name.clone(), plan.certificate.clone()?)))
            .collect();
        LastGood {
            gateway_uid,
            class: self.gateway.spec.gateway_class_name.clone(),
            config: self.inputs.config.clone(),
            dataplane: match &self.inputs.dataplane {
                Template::Named(name, spec) => Some((name.clone(), spec.clone())),
                // Built-in defaults are derived anew; in legacy mode what managed mode knew is kept.
                Template::BuiltIn(_) => None,
                Template::Nothing => before.and_then(|before| before.dataplane.clone()),
            },
            certificates,
        }
    }
}

#[cfg(test)]
mod tests;
