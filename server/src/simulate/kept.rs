//! The simulated plant on the disk, so that the next process goes on with it.

use anyhow::Context as _;
use kernel::plant::Plant;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sim::kept::{KeptHeader, KeptPlant};
use sqlx::{Sqlite, SqlitePool, Transaction};

/// Every name of the header's kind is this one.
const THE_PLANT: &str = "plant";

/// Where the parts of a plant are kept.
pub(super) struct KeptStore(SqlitePool);

impl KeptStore {
    pub(super) fn new(pool: SqlitePool) -> Self {
        Self(pool)
    }

    /// The plant that an earlier process kept here; none if there was none.
    ///
    /// # Errors
    /// The store cannot be read, or what it holds was written by another program or belongs to another site.
    pub(super) async fn read(&self, plant: &Plant) -> anyhow::Result<Option<KeptPlant>> {
        let rows: Vec<(String, String, String)> =
            sqlx::query_as("SELECT kind, name, state FROM plant_parts ORDER BY kind, name")
                .fetch_all(&self.0)
                .await
                .context("the kept plant cannot be read")?;
        if rows.is_empty() {
            return Ok(None);
        }
        let header =
            rows.iter().find(|(kind, ..)| kind == "header").context("the kept plant has no header")?;
        parse::<KeptHeader>("header", &header.2)?.check(plant)?;
        let mut kept = KeptPlant::empty(&plant.site);
        for (kind, name, state) in &rows {
            match kind.as_str() {
                "lift" => _ = kept.lifts.insert(parse_name(name)?, parse(name, state)?),
                "vehicle" => _ = kept.vehicles.insert(parse_name(name)?, parse(name, state)?),
                "memory" => _ = kept.memories.insert(parse_name(name)?, parse(name, state)?),
                "load" => _ = kept.loads.insert(parse_name(name)?, parse(name, state)?),
                // The header, which was read already; the table admits nothing else.
                _ => {}
            }
        }
        Ok(Some(kept))
    }

    /// Makes the parts durable, all of them or none.
    ///
    /// # Errors
    /// The disk refuses.
    pub(super) async fn write(&self, parts: &KeptPlant) -> anyhow::Result<()> {
        let written = async {
            let mut transaction = self.0.begin_with("BEGIN IMMEDIATE").await?;
            put(&mut transaction, "header", &THE_PLANT, &parts.header).await?;
            for (lift, part) in &parts.lifts {
                put(&mut transaction, "lift", lift, part).await?;
            }
            for (vehicle, part) in &parts.vehicles {
                put(&mut transaction, "vehicle", vehicle, part).await?;
            }
            for (vehicle, part) in &parts.memories {
                put(&mut transaction, "memory", vehicle, part).await?;
            }
            for (order, part) in &parts.loads {
                put(&mut transaction, "load", order, part).await?;
            }
            transaction.commit().await.map_err(anyhow::Error::from)
        };
        written
            .await
            .context("the simulated plant cannot be stored; it ends, since it could not go on from here")
    }
}

async fn put(
    transaction: &mut Transaction<'_, Sqlite>,
    kind: &str,
    name: &impl ToString,
    part: &impl Serialize,
) -> anyhow::Result<()> {
    sqlx::query("INSERT OR REPLACE INTO plant_parts (kind, name, state) VALUES ($1, $2, $3)")
        .bind(kind)
        .bind(name.to_string())
        .bind(serde_json::to_string(part)?)
        .execute(&mut **transaction)
        .await?;
    Ok(())
}

fn parse<T: DeserializeOwned>(name: &str, state: &str) -> anyhow::Result<T> {
    serde_json::from_str(state).with_context(|| format!("{name} cannot be understood"))
}

fn parse_name<T>(name: &str) -> anyhow::Result<T>
where
    T: TryFrom<String>,
    T::Error: std::error::Error + Send + Sync + 'static,
{
    T::try_from(name.to_owned()).with_context(|| format!("\"{name}\" is no name"))
}
