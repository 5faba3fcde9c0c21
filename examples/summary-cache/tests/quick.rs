//! The trial in its quick form: all strategies, processes that are killed, and links that fail.

use std::path::Path;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_trial_in_its_quick_form() {
    let program = Path::new(env!("CARGO_BIN_EXE_umbel-summary-cache"));
    umbel_summary_cache::trial::run_quick(program).await.unwrap();
}
