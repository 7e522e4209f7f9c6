//! Choosing entities by name.

use crate::near::closest;
use crate::{Catalog, Entity, EntityClass, EntityId};
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fmt;

/// A choice of entities, as a scenario writes it: names or patterns with `*`, separated by commas; `!`
/// before a pattern takes its matches away. `flow:`, `port:` or `input:` before it says which kind is meant.
///
/// A pattern without a kind means the first kind, in the order the asker prefers, that has a match. A selector
/// of nothing but `!` patterns takes away from everything of the preferred kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Selector(pub String);

impl Selector {
    /// The entities chosen, in the order of the catalogue and each once. `classes` are the kinds that make
    /// sense to the asker, the preferred one first; no other kind is ever chosen.
    pub fn resolve(&self, catalog: &Catalog, classes: &[EntityClass]) -> Vec<EntityId> {
        let terms: Vec<Term<'_>> = self.terms().collect();
        let mut chosen = vec![false; catalog.len()];
        if terms.iter().all(|term| term.takes_away) {
            let named = terms.iter().find_map(|term| term.class);
            let class = named.or_else(|| first_present(catalog, classes)).filter(|it| classes.contains(it));
            mark(&mut chosen, catalog, true, |entity| Some(entity.class()) == class);
        }
        for term in terms.iter().filter(|term| !term.takes_away) {
            let class = classes.iter().find(|class| term.matches_any(catalog, **class));
            mark(&mut chosen, catalog, true, |entity| Some(&entity.class()) == class && term.matches(entity));
        }
        for term in terms.iter().filter(|term| term.takes_away) {
            mark(&mut chosen, catalog, false, |entity| term.matches(entity));
        }
        catalog.iter().map(|(id, _)| id).filter(|id| chosen[id.0 as usize]).collect()
    }

    /// As [`Selector::resolve`], but a pattern that matches nothing, and a choice of nothing, are errors.
    pub fn check(&self, catalog: &Catalog, classes: &[EntityClass]) -> Result<Vec<EntityId>, SelectError> {
        for term in self.terms() {
            if term.pattern.is_empty() {
                return Err(SelectError::Empty { selector: self.0.clone() });
            }
            if let Some(class) = term.class
                && !classes.contains(&class)
            {
                return Err(SelectError::WrongKind { class, wanted: classes.to_vec() });
            }
            if !classes.iter().any(|class| term.matches_any(catalog, *class)) {
                let wanted = term.class.map_or(classes.to_vec(), |class| vec![class]);
                let of_kind = catalog.entities.iter().filter(|entity| wanted.contains(&entity.class()));
                let near = closest(term.pattern, of_kind.map(|entity| entity.name.as_str()));
                let near = near.into_iter().map(str::to_owned).collect();
                return Err(SelectError::NoMatch { pattern: term.pattern.to_owned(), wanted, near });
            }
        }
        let chosen = self.resolve(catalog, classes);
        if chosen.is_empty() {
            Err(SelectError::NothingLeft { selector: self.0.clone() })
        } else {
            Ok(chosen)
        }
    }

    fn terms(&self) -> impl Iterator<Item = Term<'_>> {
        self.0.split(',').map(Term::read)
    }
}

/// Why a selector chooses nothing, or not what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SelectError {
    /// There is no pattern at all, or none between two commas.
    Empty {
        /// The whole selector.
        selector: String,
    },
    /// It asks for a kind that has no such quantity.
    WrongKind {
        /// The kind asked for.
        class: EntityClass,
        /// The kinds that have it.
        wanted: Vec<EntityClass>,
    },
    /// A pattern matches nothing.
    NoMatch {
        /// The pattern.
        pattern: String,
        /// The kinds it was sought among.
        wanted: Vec<EntityClass>,
        /// Names that look like it.
        near: Vec<String>,
    },
    /// Its `!` patterns take away all that the others choose.
    NothingLeft {
        /// The whole selector.
        selector: String,
    },
}

impl fmt::Display for SelectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SelectError::Empty { selector } => write!(f, "`{selector}` has an empty name in it"),
            SelectError::WrongKind { class, wanted } => {
                write!(f, "this is not measured on a {class}, only on a {}", Either(wanted))
            }
            SelectError::NoMatch { pattern, wanted, near: _ } => {
                write!(f, "no {} matches `{pattern}`", Either(wanted))
            }
            SelectError::NothingLeft { selector } => write!(f, "`{selector}` takes away all that it chooses"),
        }
    }
}

impl Error for SelectError {}

impl SelectError {
    /// What would be right, if there is something to say beyond the message.
    pub fn hint(&self) -> Option<String> {
        match self {
            SelectError::NoMatch { near, .. } if !near.is_empty() => {
                let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
                Some(format!("is it {}?", near.join(" or ")))
            }
            SelectError::NoMatch { .. } => {
                Some("flows and ports are named `a->b`, inputs `a<-b`; `*` stands for any letters".to_owned())
            }
            _ => None,
        }
    }
}

/// Kinds, as a sentence lists them.
struct Either<'a>(&'a [EntityClass]);

impl fmt::Display for Either<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, class) in self.0.iter().enumerate() {
            let before = match index {
                0 => "",
                _ if index + 1 == self.0.len() => " or ",
                _ => ", ",
            };
            write!(f, "{before}{class}")?;
        }
        Ok(())
    }
}

/// What stands between two commas of a selector.
struct Term<'a> {
    takes_away: bool,
    class: Option<EntityClass>,
    pattern: &'a str,
}

impl Term<'_> {
    /// `!` and the kind may come in either order.
    fn read(text: &str) -> Term<'_> {
        let (mut takes_away, mut class, mut pattern) = (false, None, text.trim());
        loop {
            if let Some(rest) = pattern.strip_prefix('!').filter(|_| !takes_away) {
                (takes_away, pattern) = (true, rest.trim_start());
            } else if let Some((kind, rest)) = split_kind(pattern).filter(|_| class.is_none()) {
                (class, pattern) = (Some(kind), rest.trim_start());
            } else {
                return Term { takes_away, class, pattern };
            }
        }
    }

    fn matches(&self, entity: &Entity) -> bool {
        self.class.is_none_or(|class| class == entity.class()) && matches(self.pattern, &entity.name)
    }

    fn matches_any(&self, catalog: &Catalog, class: EntityClass) -> bool {
        catalog.entities.iter().any(|entity| entity.class() == class && self.matches(entity))
    }
}

fn split_kind(text: &str) -> Option<(EntityClass, &str)> {
    EntityClass::ALL
        .into_iter()
        .find_map(|class| Some((class, text.strip_prefix(class.name())?.strip_prefix(':')?)))
}

fn first_present(catalog: &Catalog, classes: &[EntityClass]) -> Option<EntityClass> {
    let present = |class: &EntityClass| catalog.entities.iter().any(|entity| entity.class() == *class);
    classes.iter().copied().find(present)
}

fn mark(chosen: &mut [bool], catalog: &Catalog, to: bool, rule: impl Fn(&Entity) -> bool) {
    for (mark, entity) in chosen.iter_mut().zip(&catalog.entities) {
        if rule(entity) {
            *mark = to;
        }
    }
}

/// Whether `name` is `pattern` with each `*` standing for any letters, or none.
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    // Taking each part where it first occurs leaves the most room for those after it.
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::catalog;
    use EntityClass::{Flow, Input, Port};
    use proptest::prelude::*;

    fn names(selector: &str, classes: &[EntityClass]) -> Vec<String> {
        let catalog = catalog();
        let chosen = Selector(selector.to_owned()).resolve(&catalog, classes);
        chosen.into_iter().map(|id| catalog.get(id).name.clone()).collect()
    }

    #[test]
    fn a_star_stands_for_any_letters_or_none() {
        assert!(matches("*", "") && matches("*", "h1->h2"));
        assert!(matches("h1->*", "h1->h2") && matches("*->h2", "h1->h2") && matches("h*->h*2", "h1->h2"));
        assert!(matches("a*ab*b", "aabb") && !matches("a*ab*b", "aab"));
        assert!(!matches("h1->h2", "h1->h22") && !matches("a*a", "a") && !matches("", "a"));
    }

    #[test]
    fn a_pattern_means_the_preferred_kind_that_has_a_match() {
        assert_eq!(names("*->h2", &[Flow, Port]), ["h1->h2"]);
        assert_eq!(names("*->h2", &[Port, Flow]), ["s1->h2"]);
        assert_eq!(names("s1->h2", &[Flow, Port]), ["s1->h2"]);
        assert_eq!(names("port:*->h2", &[Flow, Port]), ["s1->h2"]);
        assert_eq!(names("*->h2", &[Input]), Vec::<String>::new());
    }

    #[test]
    fn lists_come_in_the_order_of_the_catalogue_and_each_name_once() {
        assert_eq!(names("h2->h1, h1->h2,*", &[Flow]), ["h1->h2", "h2->h1"]);
        assert_eq!(names("flow:h1->h2,s1->h1", &[Flow, Port]), ["s1->h1", "h1->h2"]);
    }

    #[test]
    fn an_exclamation_mark_takes_away_wherever_it_stands() {
        assert_eq!(names("!h1->s1,*->s1", &[Port]), ["h2->s1"]);
        assert_eq!(names("port:*, !port:s1->*", &[Flow, Port]), ["h1->s1", "h2->s1"]);
        assert_eq!(names("port:!s1->*", &[Port]), ["h1->s1", "h2->s1"]);
    }

    #[test]
    fn exclusions_alone_take_away_from_everything_of_the_kind() {
        assert_eq!(names("!h1->*", &[Flow, Port]), ["h2->h1"]);
        assert_eq!(names("!input:s1<-*", &[Flow, Input]), ["h1<-s1", "h2<-s1"]);
        assert_eq!(names("!h1->h2,!h2->h1", &[Flow]), Vec::<String>::new());
    }

    #[test]
    fn a_name_that_is_not_there_is_an_error_with_a_near_one() {
        let error = Selector("h1->h2, h3->h1".into()).check(&catalog(), &[Flow, Port]).unwrap_err();
        assert_eq!(error.to_string(), "no flow or port matches `h3->h1`");
        assert_eq!(error.hint().unwrap(), "is it `h2->h1`?");
    }

    #[test]
    fn a_selector_that_cannot_choose_says_why() {
        let check = |text: &str| Selector(text.into()).check(&catalog(), &[Flow]).unwrap_err().to_string();
        assert_eq!(check(""), "`` has an empty name in it");
        assert_eq!(check("h1->h2,,"), "`h1->h2,,` has an empty name in it");
        assert_eq!(check("port:s1->h1"), "this is not measured on a port, only on a flow");
        assert_eq!(check("*,!h*"), "`*,!h*` takes away all that it chooses");
    }

    proptest! {
        #[test]
        fn any_text_chooses_only_what_was_asked_for(text in "[hs12<>*!,:flowprtinu -]{0,24}") {
            let (catalog, selector) = (catalog(), Selector(text));
            for classes in [&[Flow][..], &[Port, Input], &[]] {
                let chosen = selector.resolve(&catalog, classes);
                prop_assert!(chosen.is_sorted_by(|a, b| a < b));
                prop_assert!(chosen.iter().all(|id| classes.contains(&catalog.get(*id).class())));
                if let Ok(checked) = selector.check(&catalog, classes) {
                    prop_assert_eq!(checked, chosen);
                }
            }
        }

        #[test]
        fn a_pattern_and_its_exclusion_part_the_kind(pattern in "[hs12<>*-]{1,8}") {
            let catalog = catalog();
            let with = Selector(format!("flow:{pattern}")).resolve(&catalog, &[Flow]);
            let without = Selector(format!("!{pattern}")).resolve(&catalog, &[Flow]);
            let mut both = [with, without].concat();
            both.sort();
            prop_assert_eq!(both, Selector("*".into()).resolve(&catalog, &[Flow]));
        }

        #[test]
        fn matching_agrees_with_the_plain_definition(pattern in "[ab*]{0,7}", name in "[ab]{0,7}") {
            prop_assert_eq!(matches(&pattern, &name), plainly(pattern.as_bytes(), name.as_bytes()));
        }
    }

    fn plainly(pattern: &[u8], name: &[u8]) -> bool {
        match (pattern.split_first(), name.split_first()) {
            (None, _) => name.is_empty(),
            (Some((b'*', rest)), None) => plainly(rest, name),
            (Some((b'*', rest)), Some((_, later))) => plainly(rest, name) || plainly(pattern, later),
            (Some((a, rest)), Some((b, later))) => a == b && plainly(rest, later),
            (Some(_), None) => false,
        }
    }
}
