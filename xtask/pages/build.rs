//! Turns the Rust blocks of README.md, docs/ and examples/proxy/README.md into functions, which `tests/pages.rs` includes.
//!
//! `RUN` lists the blocks of docs/networks.md and docs/rust.md: the page, the line, the function, and the `text` block below it, if
//! any. The blocks of the other pages are only compiled.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The pages whose blocks are run.
const RUN: [&str; 2] = ["docs/networks.md", "docs/rust.md"];

/// A fenced block of a page.
struct Block<'a> {
    /// The line of its opening fence, from 1.
    line: usize,
    language: &'a str,
    text: String,
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    println!("cargo::rerun-if-changed=build.rs");
    let mut pages = vec![PathBuf::from("README.md"), PathBuf::from("examples/proxy/README.md")];
    println!("cargo::rerun-if-changed={}", root.join("docs").display());
    for entry in fs::read_dir(root.join("docs")).expect("docs/ is there") {
        let name = PathBuf::from(entry.expect("docs/ is readable").file_name());
        if name.extension() == Some("md".as_ref()) {
            pages.push(Path::new("docs").join(name));
        }
    }
    pages.sort();

    let (mut functions, mut run) = (String::new(), String::new());
    for page in &pages {
        println!("cargo::rerun-if-changed={}", root.join(page).display());
        let text = fs::read_to_string(root.join(page)).expect("pages are text");
        let blocks = blocks(&text);
        for (index, block) in blocks.iter().enumerate() {
            if block.language != "rust" {
                continue;
            }
            let function = page.display().to_string().replace(['/', '.', '-'], "_").to_lowercase();
            let function = format!("{function}_{}", block.line);
            let code = &block.text;
            writeln!(functions, "fn {function}() -> Outcome {{\n{code}Ok(())\n}}").unwrap();
            if RUN.iter().any(|run| page == Path::new(run)) {
                let shown = blocks.get(index + 1).filter(|next| next.language == "text");
                let shown = shown.map(|block| &block.text);
                let block = format!("{}, {function} as fn() -> Outcome", block.line);
                writeln!(run, "({page:?}, {block}, {shown:?}),").unwrap();
            }
        }
    }
    let code = format!("{functions}const RUN: &[Run] = &[{run}];\n");
    fs::write(Path::new(&env::var_os("OUT_DIR").expect("set by cargo")).join("blocks.rs"), code)
        .expect("the folder for output is there");
}

/// The fenced blocks of a page, in order.
fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut lines = page.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        let Some(language) = line.strip_prefix("```") else { continue };
        let text = lines.by_ref().take_while(|(line, _)| *line != "```");
        let text = text.map(|(line, _)| format!("{line}\n")).collect();
        blocks.push(Block { line: number, language, text });
    }
    blocks
}
