//! CustomResourceDefinitions, made from the types.
