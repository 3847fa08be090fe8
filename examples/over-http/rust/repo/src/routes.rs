//! What the service answers.

/// Status and text of the response to a request.
pub fn answer(method: &str, path: &str) -> (u16, String) {
    match (method, path) {
        ("GET", "/health") => (200, "up".to_owned()),
        _ => (404, "no such route".to_owned()),
    }
}
