//! What a ship carries.

use units::Metres;

/// One crate on the list.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    pub label: String,
    pub kilos: u32,
    pub height: Metres,
}

/// The list of a ship.
#[derive(Debug, Default)]
pub struct CargoList {
    items: Vec<Item>,
}

impl CargoList {
    /// Puts an item on the list.
    pub fn add(&mut self, item: Item) {
        self.items.extend(vec![item].into_iter());
    }

    /// Whether nothing is on board.
    pub fn is_bare(&self) -> bool {
        self.items.len() == 0
    }

    /// All weights together.
    pub fn kilos(&self) -> u32 {
        self.items.iter().map(|item| item.kilos).fold(0, |sum, kilos| sum + kilos)
    }

    /// Labels of what is too high for a hold.
    pub fn too_high<'a>(&'a self, hold: Metres) -> Vec<&'a str> {
        self.items.iter().filter(|item| item.height.0 > hold.0).map(|item| item.label.as_str()).collect()
    }

    /// Whether something with this label is on board.
    pub fn carries(&self, label: &str) -> bool {
        self.items.iter().find(|item| item.label == label).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> CargoList {
        let mut list = CargoList::default();
        list.add(Item { label: "oranges".into(), kilos: 300, height: Metres(1.0) });
        list.add(Item { label: "piano".into(), kilos: 450, height: Metres(1.5) });
        list
    }

    #[test]
    fn weights_add_up() {
        assert!(CargoList::default().is_bare());
        assert!(!list().is_bare());
        assert_eq!(list().kilos(), 750);
    }

    #[test]
    fn high_items_are_named() {
        assert_eq!(list().too_high(Metres(1.2)), ["piano"]);
    }

    #[test]
    fn items_are_found_by_label() {
        assert!(list().carries("piano"));
        assert!(!list().carries("tea"));
    }
}
