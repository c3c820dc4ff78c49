//! What makes a spec and a status an object that a Kubernetes client can read and write.

/// Defines an object of one fixed kind and version.
///
/// Unlike a derived `kube::CustomResource`, the object is readable without `spec` and has a `Default`.
/// `k8s_openapi::{Resource, Metadata}` give it `kube::Resource` through the latter's blanket impl.
macro_rules! fixed_object {
    (
        $(#[$attribute:meta])*
        $name:ident, $kind:literal, $plural:literal, $group:literal, $version:literal, $scope:ident,
        spec: $spec:ty $(, status: $status:ty)?
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Default, PartialEq, serde::Deserialize)]
        #[serde(default)]
        pub struct $name {
            pub metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
            pub spec: $spec,
            $(pub status: Option<$status>,)?
        }

        /// Of the metadata only the name: `kubectl apply` keeps the whole manifest in an annotation, credentials
        /// included.
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct($kind)
                    .field("namespace", &self.metadata.namespace)
                    .field("name", &self.metadata.name)
                    .field("spec", &self.spec)
                    $(.field("status", &self.status as &Option<$status>))?
                    .finish()
            }
        }

        impl k8s_openapi::Resource for $name {
            const API_VERSION: &'static str = concat!($group, "/", $version);
            const GROUP: &'static str = $group;
            const KIND: &'static str = $kind;
            const VERSION: &'static str = $version;
            const URL_PATH_SEGMENT: &'static str = $plural;
            type Scope = k8s_openapi::$scope;
        }

        impl k8s_openapi::Metadata for $name {
            type Ty = k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

            fn metadata(&self) -> &Self::Ty {
                &self.metadata
            }

            fn metadata_mut(&mut self) -> &mut Self::Ty {
                &mut self.metadata
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap;
                let mut object = serializer.serialize_map(None)?;
                object.serialize_entry("apiVersion", <Self as k8s_openapi::Resource>::API_VERSION)?;
                object.serialize_entry("kind", <Self as k8s_openapi::Resource>::KIND)?;
                object.serialize_entry("metadata", &self.metadata)?;
                object.serialize_entry("spec", &self.spec)?;
                $(
                    let status: &Option<$status> = &self.status;
                    if let Some(status) = status {
                        object.serialize_entry("status", status)?;
                    }
                )?
                object.end()
            }
        }
    };
}

/// Defines an object whose version, or kind too, is found at run time: `Api<T>` takes an `ApiResource`.
macro_rules! discovered_object {
    (
        $(#[$attribute:meta])*
        $name:ident, spec: $spec:ty $(, status: $status:ty)?
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        pub struct $name {
            #[serde(skip_serializing_if = "Option::is_none")]
            pub api_version: Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            pub kind: Option<String>,
            pub metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
            pub spec: $spec,
            $(
                #[serde(skip_serializing_if = "Option::is_none")]
                pub status: Option<$status>,
            )?
        }

        impl kube::core::Resource for $name {
            type DynamicType = kube::core::ApiResource;
            // Of the scopes, `Api::namespaced_with` takes only this one.
            type Scope = kube::core::DynamicResourceScope;

            fn kind(resource: &kube::core::ApiResource) -> std::borrow::Cow<'_, str> {
                resource.kind.as_str().into()
            }

            fn group(resource: &kube::core::ApiResource) -> std::borrow::Cow<'_, str> {
                resource.group.as_str().into()
            }

            fn version(resource: &kube::core::ApiResource) -> std::borrow::Cow<'_, str> {
                resource.version.as_str().into()
            }

            fn plural(resource: &kube::core::ApiResource) -> std::borrow::Cow<'_, str> {
                resource.plural.as_str().into()
            }

            fn meta(&self) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

pub(crate) use {discovered_object, fixed_object};
