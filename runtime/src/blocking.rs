//! Work that blocks, on threads of its own: those of everything else go on meanwhile.

/// Runs this there.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The process ends.
            Err(_) => std::future::pending().await,
        },
    }
}
