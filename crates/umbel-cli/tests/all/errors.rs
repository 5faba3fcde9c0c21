//! Bad input and bad arguments: what `cases/errors.md` cannot show.

use std::fs;
#[cfg(unix)]
use std::os::unix::net::UnixListener;

use crate::util::{Folder, least_memory, lines, urls};

impl Folder {
    /// Asserts that a run fails with all these words, and makes and changes no file.
    pub(crate) fn refuses(&self, arguments: &str, words: &[&str]) -> String {
        let state = || {
            let files = self.names().into_iter();
            files.map(|name| (fs::read(self.path(&name)).ok(), name)).collect::<Vec<_>>()
        };
        let before = state();
        let message = self.umbel(arguments).run().fails(words);
        assert!(state() == before, "{arguments} changed files: {:?}", self.names());
        message
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_opened_is_named() {
    let folder = Folder::new();
    folder.write("keys", urls(0..10));
    folder.umbel("build -q -o seen keys").run().done();
    let _listener = UnixListener::bind(folder.path("socket")).unwrap();
    for arguments in ["common keys socket", "add seen socket", "query socket keys"] {
        folder.refuses(arguments, &[": socket: "]);
    }
}

#[test]
fn too_little_memory_names_the_least_that_works() {
    let folder = Folder::new();
    folder.write("keys", urls(0..1000));
    folder.umbel("build -q -o large --size 64MiB --keys 1e6 --kind classic keys").run().done();
    folder.write("long", lines([vec![b'x'; 30_000_000]]));
    for (arguments, memory) in [
        ("common keys keys", "1MiB"),
        ("common keys keys --threads 64", "20MiB"),
        ("common keys keys --threads 40 --fpp 0.1", "16MiB"),
        ("common keys keys --fpp 1e-9 --threads 500", "64MiB"),
        ("build -o new keys --force", "4KiB"),
        ("add large keys", "40MiB"),
        ("query large keys", "64MiB"),
        ("query large -", "64MiB"),
        // The line and the filter.
        ("query large - keys", "79MiB"),
        ("query large keys long", "79MiB"),
        ("common long long", "16MiB"),
    ] {
        let run = |memory: &str| {
            let umbel = folder.umbel(&format!("{arguments} --memory {memory}"));
            umbel.stdin(if memory == "79MiB" { folder.read("long") } else { urls(0..10) }).run()
        };
        let refused = run(memory).says("a memory cap of ");
        refused.ended_with(2);
        let enough = least_memory(&refused.stderr).to_owned();
        run(&enough).ended_with(0);
    }
}
