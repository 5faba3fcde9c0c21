//! What the plans of jobs over lines have in common, in words and as JSON.

use serde_json::{Value, json};
use umbel::Plan;
use umbel_sets::{Input, Options, Records};

use crate::numbers::{Count, Rate, Size};

/// A job that is explained.
pub(super) struct Job<'a> {
    pub(super) verb: &'static str,
    pub(super) inputs: &'a [Input],
    pub(super) options: &'a Options,
}

impl Job<'_> {
    /// Memory and inputs, with about so many lines in each.
    pub(super) fn text(&self, lines: &[u64]) -> String {
        let Options { memory, threads, .. } = self.options;
        let mut text = format!("memory   {} in all, {threads} threads\n", Size(*memory));
        for (input, lines) in self.inputs.iter().zip(lines) {
            let (name, bytes) = (input.name(), Size(input.length()));
            text += &format!("input    {name}: {bytes}, about {} lines\n", Count(*lines));
        }
        let key = self.key();
        if !key.is_empty() {
            text += &format!("key      {}\n", key.join(", "));
        }
        text
    }

    pub(super) fn json(&self, strategy: &str, exact: bool, lines: &[u64]) -> Value {
        let inputs = self.inputs.iter().zip(lines).map(
            |(input, lines)| json!({"name": input.name(), "bytes": input.length(), "lines": lines}),
        );
        json!({
            "type": "explain", "verb": self.verb, "strategy": strategy, "exact": exact,
            "memory": self.options.memory, "threads": self.options.threads, "key": self.key(),
            "inputs": inputs.collect::<Vec<_>>(),
        })
    }

    /// What is kept to be compared.
    pub(super) fn table(&self, compared: u64, table: u64) -> String {
        format!(
            "table    about {} lines compared by their bytes; up to {} of them in memory, the rest on disk in {}\n",
            Count(compared),
            Size(table),
            self.options.tmp.display()
        )
    }

    fn key(&self) -> &[String] {
        match &self.options.records {
            Records::Csv { key, .. } | Records::Tsv { key, .. } | Records::JsonLines { key } => key,
            _ => &[],
        }
    }
}

pub(super) fn filter(plan: &Plan) -> Value {
    json!({"keys": plan.keys, "bytes": plan.bytes(), "probes": plan.probes, "fpp": plan.fpp})
}

pub(super) fn filter_line(what: &str, plan: &Plan) -> String {
    format!(
        "filter   {what}: {} for {} keys, {} probes, rate {}\n",
        Size(plan.bytes()),
        Count(plan.keys),
        plan.probes,
        Rate(plan.predicted_fpp())
    )
}

/// What is read, and what is written to temporary files.
pub(super) fn traffic(read: u64, passes: u32, spilled: u64) -> String {
    let s = if passes == 1 { "" } else { "es" };
    format!(
        "reading  {} in {passes} pass{s}\nwriting  {} to temporary files, and the result\n",
        Size(read),
        Size(spilled)
    )
}
