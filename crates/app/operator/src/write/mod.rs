//! Writing the plan to the API server.
