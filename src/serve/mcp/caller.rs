//! The client of the protocol as the engine's queue sees it.

use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use tokio::sync::mpsc;

use crate::serve::queue::Caller;

/// Does work for the client behind a request. Lines of progress go to it, if it asked for them,
/// before the work is over.
pub async fn with_caller<T>(
    context: RequestContext<RoleServer>,
    work: impl AsyncFnOnce(&Caller) -> T,
) -> T {
    let (sender, mut lines) = mpsc::unbounded_channel::<String>();
    let token = context.meta.get_progress_token();
    let (wanting, caller) = Caller::new(token.is_some().then_some(sender));

    let report = async {
        // the protocol asks for progress that only grows
        let mut reported = 0_u32;
        while let (Some(token), Some(line)) = (&token, lines.recv().await) {
            reported += 1;
            let progress = ProgressNotificationParam::new(token.clone(), f64::from(reported));
            let progress = progress.with_message(line);
            // a client that has left needs no progress
            let _ = context.peer.notify_progress(progress).await;
        }
    };
    let work = async move {
        // with the caller goes the sender, which ends the reports
        let caller = caller;
        work(&caller).await
    };
    let cancelled = async {
        context.ct.cancelled().await;
        drop(wanting);
        std::future::pending().await
    };
    tokio::select! {
        (done, ()) = async { tokio::join!(work, report) } => done,
        never = cancelled => never,
    }
}
