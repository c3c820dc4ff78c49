use serde_json::json;

use super::*;
use crate::manifests::World;
use crate::settings::ReferenceGrants;

fn spec(value: serde_json::Value) -> GatewayConfigSpec {
    serde_json::from_value(value).unwrap()
}

fn resolved_in(world: &World, value: serde_json::Value) -> Result<Auth, AuthError> {
    let config = NamespacedName::new("system", "config");
    let resolved = resolve(&world.snapshot, &world.settings, &config, &spec(value))?;
    Ok(auth(&resolved.spec).expect("a resolved spec renders"))
}

fn inline(value: serde_json::Value) -> Result<Auth, AuthError> {
    let world = World {
        snapshot: Snapshot::default(),
        settings: Settings::default(),
    };
    resolved_in(&world, value)
}

fn with_secret(data: &str, value: serde_json::Value) -> Result<Auth, AuthError> {
    let secret =
        format!("kind: Secret\nmetadata: {{name: creds, namespace: system}}\nstringData: {data}\n");
    resolved_in(&World::new(&secret), value)
}

fn static_method(username: &str, password: &str) -> AuthMethod {
    AuthMethod::Static {
        username: username.to_owned(),
        password: password.to_owned(),
    }
}

fn ephemeral(secret: &str) -> AuthMethod {
    AuthMethod::Ephemeral {
        secret: secret.to_owned(),
    }
}

#[test]
fn inline_credentials_are_static_unless_said_otherwise() {
    for kind in [json!(null), json!("static"), json!("plaintext")] {
        let auth = inline(json!({"authType": kind, "userName": "u", "password": "p"})).unwrap();
        assert_eq!(auth.method, static_method("u", "p"));
        assert_eq!(auth.realm, "stunner.l7mp.io");
        assert_eq!(auth.lifetime, None);
    }
    for kind in ["ephemeral", "longterm", "timewindowed"] {
        let auth = inline(json!({"authType": kind, "sharedSecret": "s", "authLifetime": 60}));
        let auth = auth.unwrap();
        assert_eq!(auth.method, ephemeral("s"));
        assert_eq!(auth.lifetime, Some(60));
    }
}

#[test]
fn a_missing_credential_is_named() {
    let missing = |kind, field| Err(AuthError::MissingField { kind, field });
    assert_eq!(
        inline(json!({"password": "p"})),
        missing("static", "userName")
    );
    assert_eq!(
        inline(json!({"userName": "u"})),
        missing("static", "password")
    );
    assert_eq!(
        inline(json!({"authType": "longterm", "userName": "u", "password": "p"})),
        missing("ephemeral", "sharedSecret")
    );
    assert_eq!(
        inline(json!({"authType": "xstaticx"})),
        Err(AuthError::UnknownType("xstaticx".to_owned()))
    );
}

#[test]
fn stun_mode_needs_no_credentials() {
    assert_eq!(
        inline(json!({"stunMode": true})).unwrap().method,
        AuthMethod::None
    );
}

#[test]
fn a_secret_overrules_everything_inline() {
    let config = json!({
        "authType": "ephemeral", "sharedSecret": "inline", "authRef": {"name": "creds"}
    });
    let auth = with_secret("{username: u, password: p}", config.clone()).unwrap();
    assert_eq!(auth.method, static_method("u", "p"));
    let auth = with_secret("{type: longterm, sharedSecret: s}", config.clone()).unwrap();
    assert_eq!(auth.method, ephemeral("s"));
    let auth = with_secret("{type: ephemeral, secret: a, sharedSecret: b}", config).unwrap();
    assert_eq!(auth.method, ephemeral("a"));
}

#[test]
fn inline_and_secret_do_not_mix() {
    let config = json!({"password": "inline", "authRef": {"name": "creds"}});
    let error = with_secret("{username: u}", config).unwrap_err();
    assert!(matches!(
        error,
        AuthError::MissingKey {
            key: "password",
            ..
        }
    ));
}

#[test]
fn a_secret_cannot_turn_authentication_off() {
    let error = with_secret("{type: none}", json!({"authRef": {"name": "creds"}})).unwrap_err();
    assert!(error.to_string().contains("stunMode"), "{error}");
}

#[test]
fn only_core_secrets_can_be_named() {
    let data = "{username: u, password: p}";
    let group = |group| json!({"authRef": {"name": "creds", "group": group}});
    assert!(with_secret(data, group("")).is_ok());
    assert!(with_secret(data, group("v1")).is_ok());
    assert_eq!(with_secret(data, group("apps")), Err(AuthError::NotASecret));
    let kind = json!({"authRef": {"name": "creds", "kind": "ConfigMap"}});
    assert_eq!(with_secret(data, kind), Err(AuthError::NotASecret));
}

#[test]
fn a_missing_secret_is_named() {
    let error = inline(json!({"authRef": {"name": "gone"}})).unwrap_err();
    assert!(error.to_string().contains("system/gone"), "{error}");
}

#[test]
fn errors_never_show_a_secrets_values() {
    let error = with_secret(
        "{type: hunter2, username: hunter2}",
        json!({"authRef": {"name": "creds"}}),
    );
    assert!(!error.unwrap_err().to_string().contains("hunter2"));
}

#[test]
fn a_secret_of_another_namespace_needs_a_grant_when_grants_are_enforced() {
    let mut world = World::new(
        "kind: Secret\nmetadata: {name: creds, namespace: vault}\nstringData: {username: u, password: p}\n",
    );
    let config = NamespacedName::new("system", "config");
    let spec = spec(json!({"authRef": {"name": "creds", "namespace": "vault"}}));
    let allowed = resolve(&world.snapshot, &world.settings, &config, &spec).unwrap();
    assert!(allowed.notice.unwrap().contains("ReferenceGrant"));

    world.settings.reference_grants = ReferenceGrants::Enforce;
    let refused = resolve(&world.snapshot, &world.settings, &config, &spec);
    assert!(matches!(refused, Err(AuthError::NotPermitted { .. })));

    world.apply(
        "kind: ReferenceGrant\nmetadata: {name: g, namespace: vault}\nspec:\n  from: [{group: stunner.l7mp.io, kind: GatewayConfig, namespace: system}]\n  to: [{group: '', kind: Secret}]\n",
    );
    let granted = resolve(&world.snapshot, &world.settings, &config, &spec).unwrap();
    assert_eq!(granted.notice, None);
}

#[test]
fn a_realm_is_a_dns_name() {
    let with_realm = |realm: &str| {
        inline(json!({"realm": realm, "userName": "u", "password": "p"})).map(|auth| auth.realm)
    };
    assert_eq!(with_realm("my.realm-1.test").unwrap(), "my.realm-1.test");
    assert_eq!(with_realm("").unwrap(), "stunner.l7mp.io");
    for realm in ["No.Capitals", "-a", "a..b", "a b"] {
        assert_eq!(with_realm(realm), Err(AuthError::Realm(realm.to_owned())));
    }
}

#[test]
fn the_last_good_credentials_fit_into_a_live_spec() {
    let good =
        spec(json!({"authType": "static", "userName": "u", "password": "p", "logLevel": "old"}));
    let live = spec(json!({"authRef": {"name": "gone"}, "logLevel": "new", "realm": "live.test"}));
    let mixed = substitute(&live, &good);
    assert_eq!(mixed.log_level.as_deref(), Some("new"));
    assert_eq!(mixed.auth_ref, None);
    let auth = auth(&mixed).unwrap();
    assert_eq!(auth.method, static_method("u", "p"));
    assert_eq!(auth.realm, "live.test");
}

#[test]
fn of_both_spellings_of_the_user_name_the_documented_one_counts() {
    let named = |value| inline(value).unwrap().method;
    let both = json!({"userName": "u", "username": "other", "password": "p"});
    assert_eq!(named(both), static_method("u", "p"));
    let empty = json!({"userName": "", "username": "other", "password": "p"});
    assert_eq!(named(empty), static_method("other", "p"));
}

#[test]
fn a_config_is_judged_without_its_secret() {
    let problem = |value| auth_problem(&spec(value));
    assert_eq!(problem(json!({"userName": "u", "password": "p"})), None);
    assert_eq!(problem(json!({"stunMode": true})), None);
    assert_eq!(problem(json!({"authRef": {"name": "gone"}})), None);
    let lacking = AuthError::MissingField {
        kind: STATIC,
        field: "password",
    };
    assert_eq!(problem(json!({"userName": "u"})), Some(lacking));
    let elsewhere = json!({"authRef": {"name": "creds", "kind": "ConfigMap"}});
    assert_eq!(problem(elsewhere), Some(AuthError::NotASecret));
    let realm = AuthError::Realm("Upper".to_owned());
    assert_eq!(problem(json!({"realm": "Upper"})), Some(realm));
}
