//! Names in addresses that mean a flight or waypoint without being its own.

use crate::lab::{FLIGHT, Lab, content, status};

/// Where an answer leads.
fn location(answer: &str) -> Option<&str> {
    answer.lines().find_map(|line| line.strip_prefix("location: "))
}

#[tokio::test]
async fn an_address_with_a_name_that_means_a_flight_leads_to_the_page_of_that_flight() {
    let lab = Lab::open("human-ann", false).await;
    for (asked, meant) in [
        ("/flight/latest", format!("/flight/{FLIGHT}")),
        ("/flight/latest?show=list&page=1", format!("/flight/{FLIGHT}?show=list&page=1")),
        ("/flight/latest/latest", format!("/flight/{FLIGHT}/w")),
    ] {
        let answer = lab.page(asked).await;
        assert_eq!(status(&answer), 303, "{asked}");
        let to = location(&answer).unwrap();
        assert_eq!(to, format!("{}{meant}", lab.prefix), "{asked}");
        assert_eq!(status(&lab.page(&meant).await), 200, "{meant}");
    }
    for asked in ["/flight/other", &format!("/flight/{FLIGHT}/x")] {
        let answer = lab.page(asked).await;
        assert_eq!((status(&answer), location(&answer)), (404, None), "{asked}");
        assert!(content(&answer).contains("there is no"), "{asked}");
    }
}
