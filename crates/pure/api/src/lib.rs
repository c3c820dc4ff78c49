//! Kubernetes objects: our custom resources and the parts of the Gateway API that are used.
