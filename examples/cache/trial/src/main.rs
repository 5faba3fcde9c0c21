//! The load of the trial `penetration`. `trial.py` starts the servers, calls this, and makes servers fail.
//!
//! Prints one JSON object per line. Seeds are fixed: the same keys are requested in every run.

mod load;
mod requests;
mod services;
mod storm;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};
use postgres::{Client, NoTls};
use umbel_cache::Settings;

/// Load on a guarded table.
#[derive(Parser)]
struct Arguments {
    /// Addresses of the servers, separated by commas.
    #[arg(long, value_delimiter = ',')]
    redis: Vec<String>,
    /// How to connect to PostgreSQL.
    #[arg(long)]
    postgres: String,
    /// The program `umbel`.
    #[arg(long, default_value = "umbel")]
    umbel: PathBuf,
    /// Rows of the table.
    #[arg(long)]
    rows: u32,
    #[command(subcommand)]
    job: Job,
}

#[derive(Subcommand)]
enum Job {
    /// Make the table, its rows and its journal.
    Setup,
    /// Request keys as fast as it goes; print what it took.
    Load(load::Options),
    /// Read, write and delete until standard input ends. Each line there ends a phase of that name, whose counts are printed.
    Storm(storm::Options),
}

fn main() -> Result<()> {
    let Arguments { redis, postgres, umbel, rows, job } = Arguments::parse();
    let mut settings = Settings::new("articles", "slug", "body", redis, &postgres);
    settings.umbel = umbel;
    match job {
        Job::Setup => setup(&settings, rows),
        Job::Load(options) => load::run(settings, rows, &options),
        Job::Storm(options) => storm::run(&settings, rows, &options),
    }
}

/// Rows with texts of 200 bytes.
fn setup(settings: &Settings, rows: u32) -> Result<()> {
    let mut database = Client::connect(&settings.postgres, NoTls)?;
    database.batch_execute("CREATE TABLE articles (slug text PRIMARY KEY, body text NOT NULL)")?;
    let fill = "INSERT INTO articles SELECT 'article-' || i, rpad('text ' || i, 200, '.') FROM generate_series(0, $1::bigint - 1) i";
    database.execute(fill, &[&i64::from(rows)])?;
    database.batch_execute("VACUUM ANALYZE articles")?;
    Ok(umbel_cache::install(settings)?)
}
