//! Rows of named values: assigns a key's values to the attributes of a filter of rows, which it fills and queries in
//! batches.

use umbel::{AnyFilter, Attributes, RowError};

use crate::prelude::*;
use crate::records::values_of;

/// The positions of a key's fields in the rows of a filter.
pub(crate) struct Indices {
    /// For each field, in the key's order.
    places: Vec<usize>,
    attributes: usize,
}

impl Indices {
    /// The positions that `indices` finds: of all attributes, or of some for a query. `None` for filters of keys.
    pub(crate) fn of(
        filter: &AnyFilter,
        options: &Options,
        indices: impl FnOnce(&Attributes, &[String]) -> Result<Vec<usize>, RowError>,
    ) -> Result<Option<Self>, Error> {
        let AnyFilter::Attributes(filter) = filter else { return Ok(None) };
        let places = indices(filter, options.form.records.key())?;
        Ok(Some(Self { places, attributes: filter.names().len() }))
    }

    /// Which attributes are among them.
    pub(crate) fn mask(&self) -> Vec<bool> {
        (0..self.attributes).map(|place| self.places.contains(&place)).collect()
    }

    /// The rows of some lines, with `none` for attributes that are not in the key.
    fn rows<'a, V: Copy>(
        &self,
        lines: &Lines<'a>,
        none: V,
        some: impl Fn(&'a [u8]) -> V,
    ) -> Vec<V> {
        let mut rows = vec![none; lines.len() * self.attributes];
        for (i, row) in rows.chunks_mut(self.attributes).enumerate() {
            let values = values_of(lines.key(i), self.places.len());
            for (&place, value) in self.places.iter().zip(values) {
                row[place] = some(value);
            }
        }
        rows
    }

    /// Inserts the rows of some lines.
    pub(crate) fn insert(&self, filter: &mut Attributes, lines: &Lines<'_>) -> Result<(), Error> {
        let rows = self.rows(lines, &[][..], |value| value);
        let rows: Vec<_> = rows.chunks(self.attributes).collect();
        Ok(filter.insert_rows(&rows)?)
    }

    /// Whether each line may be in the filter.
    pub(crate) fn ask(
        &self,
        filter: &Attributes,
        lines: &Lines<'_>,
        found: &mut [bool],
    ) -> Result<(), Error> {
        let rows = self.rows(lines, None, Some);
        let rows: Vec<_> = rows.chunks(self.attributes).collect();
        Ok(filter.contains_rows(&rows, found)?)
    }
}
