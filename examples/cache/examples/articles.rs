//! Reads and writes articles, as README.md shows. Needs a keeper: `umbel-cache keep`.

use umbel_cache::{Error, Guard, Settings};

fn main() -> Result<(), Error> {
    let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    let redis = variable("REDIS").split(',').map(str::to_owned).collect();
    let settings = Settings::new("articles", "slug", "body", redis, &variable("POSTGRES"));
    let mut guard = Guard::new(settings)?;

    let answer = guard.get("no-such-article")?;
    println!("{:?} from {:?}", answer.row, answer.source);

    guard.write(|transaction| {
        transaction.execute("INSERT INTO articles VALUES ('umbels', 'Carrots and hemlocks.')", &[])
    })?;
    let answer = guard.get("umbels")?;
    println!("{:?} from {:?}", answer.row, answer.source);

    guard.write(|transaction| {
        transaction.execute("DELETE FROM articles WHERE slug = 'umbels'", &[])
    })?;
    println!("{:?}", guard.get("umbels")?.row);
    Ok(())
}
