//! Near misses: what someone may have meant by a name that is not there.

/// The candidates nearest to `word`, all equally near and at most three; none if all are far off.
///
/// Distance is the number of letters to insert, delete, replace or swap with a neighbour. A candidate counts
/// as near while that is at most a third of the word's length, and at least one.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    const MOST: usize = 3;
    let word: Vec<char> = word.chars().collect();
    let limit = (word.len() / 3).max(1);
    let mut near: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| Some((distance(&word, candidate, limit)?, candidate)))
        .collect();
    near.sort();
    near.dedup();
    if let Some(&(best, _)) = near.first() {
        near.retain(|(edits, _)| *edits == best);
    }
    near.truncate(MOST);
    near.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Edits between the two, or `None` where there are more than `limit`.
fn distance(word: &[char], candidate: &str, limit: usize) -> Option<usize> {
    let candidate: Vec<char> = candidate.chars().collect();
    if word.len().abs_diff(candidate.len()) > limit {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=candidate.len()).collect();
    for (i, &letter) in word.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &other) in candidate.iter().enumerate() {
            let replaced = above[j] + usize::from(letter != other);
            let mut best = replaced.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && letter == candidate[j - 1] && word[i - 1] == other {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        if row.iter().all(|&edits| edits > limit) {
            return None;
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().filter(|&edits| edits <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_letter_is_near_and_another_word_is_not() {
        let names = ["h1->h5", "h1->h10", "s1->h5"];
        assert_eq!(closest("h2->h5", names), ["h1->h5"]);
        assert_eq!(closest("x1->h5", names), ["h1->h5", "s1->h5"]);
        assert!(closest("throughput", names).is_empty());
    }

    #[test]
    fn only_the_nearest_is_named_and_swapped_letters_count_once() {
        assert_eq!(closest("qeuue", ["quote", "queue"]), ["queue"]);
        assert_eq!(closest("limits", ["limit", "limbs"]), ["limit"]);
    }

    #[test]
    fn an_empty_word_is_near_to_single_letters_only() {
        assert_eq!(closest("", ["a", "ab"]), ["a"]);
    }
}
