//! Thrift's compact protocol, with the number of every field: footers and headers of pages as no writer makes them. The
//! fuzz targets use it too.

pub(crate) fn varint(number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    umbel_foreign::parquet::thrift::varint(&mut bytes, number);
    bytes
}

pub(crate) fn zigzag(number: i64) -> Vec<u8> {
    varint((number << 1 ^ number >> 63) as u64)
}

pub(crate) fn field(number: i64, kind: u8, value: &[u8]) -> Vec<u8> {
    [&[kind][..], &zigzag(number), value].concat()
}

pub(crate) fn int(number: i64, value: i64) -> Vec<u8> {
    field(number, 5, &zigzag(value))
}

pub(crate) fn long(number: i64, value: i64) -> Vec<u8> {
    field(number, 6, &zigzag(value))
}

pub(crate) fn text(text: &str) -> Vec<u8> {
    [&varint(text.len() as u64), text.as_bytes()].concat()
}

pub(crate) fn name(number: i64, name: &str) -> Vec<u8> {
    field(number, 8, &text(name))
}

/// The fields of a structure, and its end.
pub(crate) fn fields(fields: &[Vec<u8>]) -> Vec<u8> {
    [fields.concat(), vec![0]].concat()
}

pub(crate) fn structure(number: i64, of: &[Vec<u8>]) -> Vec<u8> {
    field(number, 12, &fields(of))
}

pub(crate) fn list(number: i64, kind: u8, items: &[Vec<u8>]) -> Vec<u8> {
    let head = [&[0xf0 | kind][..], &varint(items.len() as u64)].concat();
    field(number, 9, &[head, items.concat()].concat())
}

/// A file of these pages with this footer.
pub(crate) fn file(pages: &[u8], footer: &[Vec<u8>]) -> Vec<u8> {
    let footer = fields(footer);
    let length = (footer.len() as u32).to_le_bytes();
    [b"PAR1", pages, &footer, &length, b"PAR1"].concat()
}
