//! From a kubeconfig to the pods of a gateway, and to what they answer.

#![forbid(unsafe_code)]
