//! Secrets in a difference: that they differ is worth showing, what they are is not.

use serde_json::Value;

/// Gives every secret value a number, the same for the same value.
#[derive(Default)]
pub(super) struct Hidden {
    values: Vec<Value>,
}

impl Hidden {
    /// Puts marks in place of the secrets of a dataplane configuration.
    pub(super) fn hide(&mut self, config: &mut Value) {
        if let Some(credentials) = config.pointer_mut("/auth/credentials")
            && let Some(credentials) = credentials.as_object_mut()
        {
            credentials.values_mut().for_each(|value| self.mark(value));
        }
        let listeners = config.get_mut("listeners").and_then(Value::as_array_mut);
        for listener in listeners.into_iter().flatten() {
            for field in ["cert", "key"] {
                if let Some(value) = listener.get_mut(field) {
                    self.mark(value);
                }
            }
        }
    }

    fn mark(&mut self, value: &mut Value) {
        let place = self.values.iter().position(|known| known == value);
        let place = place.unwrap_or_else(|| {
            self.values.push(value.clone());
            self.values.len() - 1
        });
        *value = Value::from(format!("<hidden {}>", place + 1));
    }
}
