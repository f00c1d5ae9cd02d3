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
    let (wanting, caller) = Caller::new();
    let cancelled = async {
        context.ct.cancelled().await;
        drop(wanting);
        std::future::pending().await
    };
    tokio::select! {
        done = with_progress(&context, caller, work) => done,
        never = cancelled => never,
    }
}

/// Does the work, and sends lines of progress to a client that asked for them.
async fn with_progress<T>(
    context: &RequestContext<RoleServer>,
    caller: Caller,
    work: impl AsyncFnOnce(&Caller) -> T,
) -> T {
    let Some(token) = context.meta.get_progress_token() else {
        return work(&caller).await;
    };

    let (sender, mut lines) = mpsc::unbounded_channel::<String>();
    let peer = context.peer.clone();
    let report = async move {
        // the protocol asks for progress that only grows
        let mut reported = 0_u32;
        while let Some(line) = lines.recv().await {
            reported += 1;
            let progress = ProgressNotificationParam::new(token.clone(), f64::from(reported));
            // a client that has left needs no progress
            let _ = peer.notify_progress(progress.with_message(line)).await;
        }
    };
    let caller = caller.with_progress(sender);
    let work = async move {
        // with the caller goes the sender, which ends the reports
        let caller = caller;
        work(&caller).await
    };
    let (done, ()) = tokio::join!(work, report);
    done
}
