//! A guard for programs in other languages: each line of standard input is a key to look up, or `write` and a statement.
//! Answers a line with whether there is a row and from where that is known, or with `written`, or with an error.

use umbel_cache::{Error, Guard, Settings};

fn main() -> Result<(), Error> {
    let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    let redis = variable("REDIS").split(',').map(str::to_owned).collect();
    let settings = Settings::new("articles", "slug", "body", redis, &variable("POSTGRES"));
    let mut guard = Guard::new(settings)?;
    for line in std::io::stdin().lines() {
        let line = line?;
        let answer = match line.strip_prefix("write ") {
            Some(statement) => {
                guard.write(|it| it.execute(statement, &[])).map(|_| "written".to_owned())
            }
            None => guard.get(&line).map(|it| format!("{} {:?}", it.row.is_some(), it.source)),
        };
        println!("{}", answer.unwrap_or_else(|error| format!("error {error}")));
    }
    Ok(())
}
