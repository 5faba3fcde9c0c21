//! The recipes of the README, each command as it is pasted.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::util::Folder;

#[test]
fn every_recipe_works_as_pasted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let folder = Folder::new();
    fs::create_dir(folder.path("examples")).unwrap();
    for file in fs::read_dir(root.join("examples")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), folder.path("examples").join(file.file_name())).unwrap();
    }
    symlink(root.join("testdata"), folder.path("testdata")).unwrap();
    fs::create_dir(folder.path("bin")).unwrap();
    symlink(env!("CARGO_BIN_EXE_umbel"), folder.path("bin").join("umbel")).unwrap();
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let recipes = readme.split("\n## ").find(|part| part.starts_with("Recipes")).unwrap();
    let blocks = recipes.split("```").skip(1).step_by(2);
    let commands: Vec<&str> = blocks.flat_map(str::lines).filter(|line| !line.is_empty()).collect();
    assert!(commands.len() > 30, "{} commands", commands.len());
    for command in commands {
        let script = format!("PATH=\"$PWD/bin:$PATH\"; {command}");
        let run = folder.program("sh", "-c").arg(script).run();
        // What compares or looks for something may end with 1; an error is told, and ends with 2.
        let code = run.status.code();
        assert!(code == Some(0) || code == Some(1), "{command}: {code:?} {}", run.stderr);
    }
}
