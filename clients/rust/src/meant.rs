//! The known name that an unknown one probably means.

/// Most edits between a name and the one that was meant.
const EDITS_MAX: usize = 2;
/// Two edits leave little of a short name.
const SHORT: usize = 3;

/// The known names that differ from a name by a slip or two, the nearest first. Case does not matter.
pub(crate) fn names_meant<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let letters = letters_of(name);
    let mut near: Vec<(usize, &str)> = Vec::new();
    for each in known {
        let other = letters_of(each);
        let most = if letters.len().min(other.len()) <= SHORT { 1 } else { EDITS_MAX };
        if letters.len().abs_diff(other.len()) <= most {
            let edits = edits(&letters, &other);
            if edits <= most {
                near.push((edits, each));
            }
        }
    }
    near.sort_by_key(|(edits, _)| *edits);
    near.into_iter().map(|(_, each)| each).collect()
}

fn letters_of(name: &str) -> Vec<char> {
    name.to_lowercase().chars().collect()
}

/// Levenshtein distance: the fewest characters to insert, delete or replace.
fn edits(one: &[char], other: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (count, letter) in one.iter().enumerate() {
        let (mut diagonal, mut left) = (count, count + 1);
        for (cell, another) in row.iter_mut().skip(1).zip(other) {
            let replaced = diagonal + usize::from(letter != another);
            diagonal = *cell;
            left = replaced.min(left + 1).min(*cell + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = count + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}
