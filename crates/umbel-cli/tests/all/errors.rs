//! Bad input and bad arguments: what `cases/errors.md` cannot show.

use std::fs;
#[cfg(unix)]
use std::os::unix::net::UnixListener;

use crate::util::{Folder, urls};

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
    folder.umbel("filter build -q -o seen keys").run().done();
    let _listener = UnixListener::bind(folder.path("socket")).unwrap();
    for arguments in ["common keys socket", "filter add seen socket", "filter query socket keys"] {
        folder.refuses(arguments, &[": socket: "]);
    }
}
