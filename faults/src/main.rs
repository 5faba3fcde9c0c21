//! Tries umbel on a system that fails: lets the n-th system call of a job fail, for each n and several errors, or do less than
//! requested. Each run must end with the right answer, or with a message that names the file and without losing or leaving
//! anything; then the next run, without a fault, must give the right answer. With `--crashes` the power fails instead: the
//! files then on the disk must open, with everything recorded in them, and the next run must give the right answer.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod tool;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> std::process::ExitCode {
    tool::run()
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() -> std::process::ExitCode {
    eprintln!("faults: changes registers of Linux on x86-64, and knows no others");
    std::process::ExitCode::from(2)
}
