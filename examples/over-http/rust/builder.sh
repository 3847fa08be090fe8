#!/bin/sh
# Plays the building agent: writes the route of temperatures. Its first attempt takes one that cannot be for one that cannot be read;
# the second reads in the evidence of the red test which status was expected.
set -eu

too_cold=400
if grep -q "expected status 422, got 400" "${HOLDPOINT_FEEDBACK_FILE:-/dev/null}"; then
    too_cold=422
fi
cat > src/routes.rs <<RS
//! What the service answers.

const ABSOLUTE_ZERO: f64 = -459.67;

/// Status and text of the response to a request.
pub fn answer(method: &str, path: &str) -> (u16, String) {
    match (method, path.strip_prefix("/celsius/")) {
        ("GET", Some(fahrenheit)) => celsius(fahrenheit),
        ("GET", None) if path == "/health" => (200, "up".to_owned()),
        _ => (404, "no such route".to_owned()),
    }
}

fn celsius(fahrenheit: &str) -> (u16, String) {
    match fahrenheit.parse::<f64>() {
        Err(_) => (400, format!("{fahrenheit} is no number")),
        Ok(degrees) if degrees < ABSOLUTE_ZERO => ($too_cold, "below absolute zero".to_owned()),
        Ok(degrees) => (200, format!("{:.1}", (degrees - 32.0) / 1.8)),
    }
}
RS
echo "Temperatures are converted now."
