//! A real dataplane behind the console: metrics by the API server's pod proxy, the admin API by port-forward, both
//! with the visitor's token.
