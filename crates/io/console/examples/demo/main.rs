//! The console on made-up data, to work on the page without a gateway:
//!
//! ```text
//! cargo run -p stunner-console --example demo -- [--port 8090] [--routes N] [--operator] [--hostile] [--empty]
//! ```
//!
//! `--routes` adds that many routes (1,000 must not freeze the page), `--operator` hides the live parts until a token is
//! sent (`secret` is accepted), `--hostile` gives objects names that would be markup, `--empty` is a fresh start. The
//! page is embedded when this is compiled: after an edit of `page/`, run it again. There is no gateway behind it, so the
//! ICE test says so.

mod world;

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use futures_util::future::BoxFuture;
use stunner_console::{HostNames, IceTest, Refusal, Source, State, Visitor, router};
use stunner_http::{BindAddress, HttpServer};
use tokio::sync::watch;

struct Demo {
    options: world::Options,
    started: Instant,
    generation: watch::Sender<u64>,
}

impl Source for Demo {
    fn state<'a>(&'a self, visitor: &'a Visitor) -> BoxFuture<'a, State> {
        Box::pin(async {
            let seconds = self.started.elapsed().as_secs_f64();
            let generation = *self.generation.borrow();
            world::state(&self.options, seconds, generation, visitor.token.as_deref())
        })
    }

    fn changed(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    fn start_ice_test<'a>(
        &'a self,
        _visitor: &'a Visitor,
        gateway: String,
        listener: String,
    ) -> BoxFuture<'a, Result<IceTest, Refusal>> {
        Box::pin(async move {
            Err(Refusal::new(
                StatusCode::SERVICE_UNAVAILABLE,
                format!("there is no gateway behind this demo, so no {gateway}/{listener} either"),
                "start `stunner run examples/quickstart` and open its console",
            ))
        })
    }

    fn answer_ice_test<'a>(
        &'a self,
        _visitor: &'a Visitor,
        _id: String,
        _offer: String,
    ) -> BoxFuture<'a, Result<String, Refusal>> {
        Box::pin(async { Err(Refusal::new(StatusCode::NOT_FOUND, "no such test", "")) })
    }

    fn end_ice_test<'a>(
        &'a self,
        _visitor: &'a Visitor,
        _id: String,
    ) -> BoxFuture<'a, Result<(), Refusal>> {
        Box::pin(async { Ok(()) })
    }

    fn end_session<'a>(
        &'a self,
        _visitor: &'a Visitor,
        _id: String,
    ) -> BoxFuture<'a, Result<(), Refusal>> {
        Box::pin(async { Ok(()) })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut port = 8090;
    let mut options = world::Options::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--port" => port = arguments.next().unwrap_or_default().parse()?,
            "--routes" => options.more_routes = arguments.next().unwrap_or_default().parse()?,
            "--operator" => options.operator = true,
            "--hostile" => options.hostile = true,
            "--empty" => options.empty = true,
            other => return Err(format!("`{other}` is no option of the demo").into()),
        }
    }
    let address: BindAddress = format!("127.0.0.1:{port}").parse()?;
    let demo = Arc::new(Demo {
        options,
        started: Instant::now(),
        generation: watch::Sender::new(1),
    });
    let running =
        HttpServer::bind(&address)?.serve(router(demo.clone(), HostNames::of(&address)))?;
    println!("http://127.0.0.1:{port}/");
    loop {
        // Something changes now and then, as it does when manifests are edited.
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(20)) => demo.generation.send_modify(|generation| *generation += 1),
            _ = tokio::signal::ctrl_c() => break,
        }
    }
    running.stop().await;
    Ok(())
}
