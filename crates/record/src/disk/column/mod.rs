//! One column of a table on its way into a Parquet file.
//!
//! Parquet's own writer takes any table, and looks at each value several times. Our columns are few and known: numbers, stored as
//! differences; words out of a list, stored by their place in it; and texts, stored as they are. Each value is encoded when it is said, and
//! nothing else is kept of it. What is around them (headers, statistics, the file itself) is left to Parquet's writer.

mod numbers;
mod runs;

use crate::Catalog;
use bytes::Bytes;
use numbers::Numbers;
use parquet::basic::{Compression, Encoding, SortOrder, Type};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use runs::Runs;
use std::io::Write;
use std::mem;
use std::sync::Arc;

/// A page ends with the piece that gives it so many rows. It is compressed then: not too much is left for the end of a run.
const PAGE: usize = 8 * 1024;

/// What a column holds.
pub(super) enum Content {
    Numbers,
    Words(Words),
    Texts,
}

/// The words that a column may hold; it has each by its place here.
pub(super) enum Words {
    /// The names of entities.
    Entities(Arc<Catalog>),
    /// A few that are always the same.
    Few(Vec<&'static str>),
}

impl Words {
    fn word(&self, place: u32) -> &str {
        match self {
            Words::Entities(catalog) => &catalog.entities[place as usize].name,
            Words::Few(words) => words[place as usize],
        }
    }

    fn count(&self) -> usize {
        match self {
            Words::Entities(catalog) => catalog.len(),
            Words::Few(words) => words.len(),
        }
    }
}

/// The rows of a column that have a value and those that have none, by turns.
pub(super) type Gaps = Vec<(bool, usize)>;

/// A column of a row group that has ended: its pages, and what is to be known of them.
pub(super) type Closed = (Bytes, ColumnCloseResult);

/// A column, with as much of a row group as has been said.
pub(super) struct Column {
    about: ColumnDescPtr,
    rows: PageRows,
    values: Values,
    /// Pages that are full, and how long they were before they were compressed.
    pages: Vec<u8>,
    unpacked: usize,
    /// Rows of the group that are in them.
    all_rows: usize,
}

/// The rows of the page in hand, and which of them have a value.
struct PageRows {
    count: usize,
    there: Runs,
    /// Those of the whole group that have none.
    nulls: usize,
}

impl PageRows {
    /// Adds rows that have a value or none, and what is to be done with a value.
    fn add<T>(&mut self, values: impl Iterator<Item = Option<T>>, mut push: impl FnMut(T)) {
        for value in values {
            self.count(value.is_some(), 1);
            if let Some(value) = value {
                push(value);
            }
        }
    }

    #[inline]
    fn count(&mut self, is_there: bool, rows: usize) {
        self.there.push(is_there.into(), rows);
        self.count += rows;
        self.nulls += if is_there { 0 } else { rows };
    }
}

impl Column {
    pub(super) fn new(about: ColumnDescPtr, content: Content) -> Column {
        let values = Values::new(content, about.sort_order() == SortOrder::UNSIGNED);
        Column {
            about,
            rows: PageRows { count: 0, there: Runs::new(1), nulls: 0 },
            values,
            pages: Vec::new(),
            unpacked: 0,
            all_rows: 0,
        }
    }

    /// Adds a number for each row.
    pub(super) fn numbers(&mut self, numbers: impl Iterator<Item = i64>) {
        self.maybe_numbers(numbers.map(Some));
    }

    /// Adds rows that have a number or none.
    pub(super) fn maybe_numbers(&mut self, numbers: impl Iterator<Item = Option<i64>>) {
        let to = self.values.numbers();
        self.rows.add(numbers, |number| to.push(number));
    }

    /// Adds rows, and the numbers of those that have one.
    pub(super) fn numbers_among(&mut self, gaps: &Gaps, numbers: impl Iterator<Item = i64>) {
        gaps.iter().for_each(|&(is_there, rows)| self.rows.count(is_there, rows));
        let to = self.values.numbers();
        numbers.for_each(|number| to.push(number));
    }

    /// Adds a word for each row.
    pub(super) fn words(&mut self, places: impl Iterator<Item = u32>) {
        self.maybe_words(places.map(Some));
    }

    /// Adds rows that have a word or none.
    pub(super) fn maybe_words(&mut self, places: impl Iterator<Item = Option<u32>>) {
        let to = self.values.words();
        self.rows.add(places, |place| to.push(place));
    }

    /// Adds a text for each row.
    pub(super) fn texts<'a>(&mut self, texts: impl Iterator<Item = &'a str>) {
        let to = self.values.texts();
        self.rows.add(texts.map(Some), |text| put_text(text, to));
    }

    /// Ends the page if it is full.
    pub(super) fn end_full_page(&mut self) -> Result<(), ParquetError> {
        if self.rows.count >= PAGE { self.end_page() } else { Ok(()) }
    }

    fn end_page(&mut self) -> Result<(), ParquetError> {
        let mut octets = Vec::new();
        let there = self.rows.there.take();
        if self.about.max_def_level() > 0 {
            octets.extend_from_slice(&(there.len() as u32).to_le_bytes());
            octets.extend_from_slice(&there);
        } else {
            assert_eq!(self.rows.nulls, 0, "a value for every row of {}", self.about.name());
        }
        self.values.take(&mut octets);
        let rows = mem::take(&mut self.rows.count);
        self.all_rows += rows;
        let page = Page::DataPage {
            buf: compressed(&octets)?,
            num_values: rows as u32,
            encoding: self.values.encoding(),
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        self.unpacked += put_page(page, octets.len(), &mut self.pages)?;
        Ok(())
    }

    /// Ends the row group: all its pages, and what is to be known of them. The column is empty then.
    pub(super) fn close(&mut self) -> Result<Closed, ParquetError> {
        if self.rows.count > 0 {
            self.end_page()?;
        }
        let mut octets = Vec::new();
        let mut unpacked = mem::take(&mut self.unpacked);
        let mut encodings = vec![self.values.encoding(), Encoding::RLE];
        let statistics = self.values.statistics(&self.about, mem::take(&mut self.rows.nulls));
        if let Values::Words(words) = &mut self.values {
            let (count, dictionary) = words.take_dictionary();
            let page = Page::DictionaryPage {
                buf: compressed(&dictionary)?,
                num_values: count as u32,
                encoding: Encoding::PLAIN,
                is_sorted: false,
            };
            unpacked += put_page(page, dictionary.len(), &mut octets)?;
            encodings.push(Encoding::PLAIN);
        }
        let dictionary = octets.len();
        octets.append(&mut self.pages);
        let rows = mem::take(&mut self.all_rows);
        let mut metadata = ColumnChunkMetaData::builder(Arc::clone(&self.about))
            .set_compression(Compression::SNAPPY)
            .set_encodings(encodings)
            .set_total_compressed_size(octets.len() as i64)
            .set_total_uncompressed_size(unpacked as i64)
            .set_num_values(rows as i64)
            .set_data_page_offset(dictionary as i64)
            .set_dictionary_page_offset((dictionary > 0).then_some(0));
        if let Some(statistics) = statistics {
            metadata = metadata.set_statistics(statistics);
        }
        let known = ColumnCloseResult {
            bytes_written: octets.len() as u64,
            rows_written: rows as u64,
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok((octets.into(), known))
    }
}

/// The values of the page in hand, and what is remembered of those before.
enum Values {
    Numbers(Box<Numbers>),
    Words(Dictionary),
    Texts(Vec<u8>),
}

impl Values {
    fn new(content: Content, is_unsigned: bool) -> Values {
        match content {
            Content::Numbers => Values::Numbers(Box::new(Numbers::new(is_unsigned))),
            Content::Words(words) => Values::Words(Dictionary::of(words)),
            Content::Texts => Values::Texts(Vec::new()),
        }
    }

    fn numbers(&mut self) -> &mut Numbers {
        match self {
            Values::Numbers(numbers) => numbers,
            _ => unreachable!("a column of numbers"),
        }
    }

    fn words(&mut self) -> &mut Dictionary {
        match self {
            Values::Words(words) => words,
            _ => unreachable!("a column of words"),
        }
    }

    fn texts(&mut self) -> &mut Vec<u8> {
        match self {
            Values::Texts(octets) => octets,
            _ => unreachable!("a column of texts"),
        }
    }

    fn encoding(&self) -> Encoding {
        match self {
            Values::Numbers(_) => Encoding::DELTA_BINARY_PACKED,
            Values::Words(_) => Encoding::RLE_DICTIONARY,
            Values::Texts(_) => Encoding::PLAIN,
        }
    }

    /// Puts those of the page there, and none is left.
    fn take(&mut self, to: &mut Vec<u8>) {
        match self {
            Values::Numbers(numbers) => numbers.take_page(to),
            Values::Words(words) => words.take_page(to),
            Values::Texts(octets) => to.append(octets),
        }
    }

    /// What the group says of its numbers, of which it begins anew. Which word is the least and which the greatest, nobody asks.
    fn statistics(&mut self, about: &ColumnDescPtr, nulls: usize) -> Option<Statistics> {
        let Values::Numbers(numbers) = self else { return None };
        let nulls = Some(nulls as u64);
        let range = numbers.take_range();
        let (least, greatest) = range.unzip();
        Some(if about.physical_type() == Type::INT32 {
            let [least, greatest] = [least, greatest].map(|it| it.map(|it| it as i32));
            Statistics::int32(least, greatest, None, nulls, false)
        } else {
            Statistics::int64(least, greatest, None, nulls, false)
        })
    }
}

/// The words that a group has so far, in the order in which they were first said.
struct Dictionary {
    words: Words,
    said: Vec<u32>,
    /// For each word there is, one more than its place among those said; or zero.
    places: Vec<u32>,
    /// Those of the page, by these places.
    page: Vec<u32>,
}

impl Dictionary {
    fn of(words: Words) -> Dictionary {
        Dictionary { places: vec![0; words.count()], words, said: Vec::new(), page: Vec::new() }
    }

    #[inline]
    fn push(&mut self, word: u32) {
        let place = &mut self.places[word as usize];
        if *place == 0 {
            self.said.push(word);
            *place = self.said.len() as u32;
        }
        self.page.push(*place - 1);
    }

    fn take_page(&mut self, to: &mut Vec<u8>) {
        let width = Runs::width_below(self.said.len());
        let mut runs = Runs::new(width);
        self.page.chunks(runs::GROUP).for_each(|group| runs.push_group(group));
        self.page.clear();
        to.push(width as u8);
        to.append(&mut runs.take());
    }

    /// The words, and how many they are; the next group begins with none.
    fn take_dictionary(&mut self) -> (usize, Vec<u8>) {
        let mut octets = Vec::new();
        let said = mem::take(&mut self.said);
        for word in &said {
            put_text(self.words.word(*word), &mut octets);
            self.places[*word as usize] = 0;
        }
        (said.len(), octets)
    }
}

fn put_text(text: &str, to: &mut Vec<u8>) {
    to.extend_from_slice(&(text.len() as u32).to_le_bytes());
    to.extend_from_slice(text.as_bytes());
}

/// A number with seven bits an octet, the least first; all octets but the last have the eighth.
fn put_varint(mut number: u64, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn compressed(octets: &[u8]) -> Result<Bytes, ParquetError> {
    let octets = snap::raw::Encoder::new().compress_vec(octets);
    octets.map(Bytes::from).map_err(|error| ParquetError::External(Box::new(error)))
}

/// Adds a page, and says how long it would be without compression.
fn put_page(page: Page, unpacked: usize, to: &mut Vec<u8>) -> Result<usize, ParquetError> {
    let mut sink = TrackedWrite::new(to);
    let put = SerializedPageWriter::new(&mut sink).write_page(CompressedPage::new(page, unpacked))?;
    sink.flush()?;
    Ok(put.uncompressed_size)
}

#[cfg(test)]
mod tests {
    pub(super) fn take_varint(octets: &mut &[u8]) -> u64 {
        let mut number = 0;
        for bits in (0..).step_by(7) {
            let (first, rest) = octets.split_first().unwrap();
            *octets = rest;
            number |= u64::from(first & 0x7f) << bits;
            if first & 0x80 == 0 {
                break;
            }
        }
        number
    }

    /// One of the numbers that were put one behind the other, with so many bits each.
    pub(super) fn unpacked(octets: &[u8], width: usize, place: usize) -> u64 {
        let bit = |at: usize| u64::from(octets[at / 8] >> (at % 8) & 1);
        (0..width).map(|at| bit(place * width + at) << at).sum()
    }
}
