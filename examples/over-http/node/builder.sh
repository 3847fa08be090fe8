#!/bin/sh
# Plays the building agent: writes the route of orders. Its first attempt takes a wrong count for a request that cannot be read; the
# second reads in the evidence of the red test which status was expected.
set -eu

wrong_count=400
if grep -q "expected status 422, got 400" "${HOLDPOINT_FEEDBACK_FILE:-/dev/null}"; then
    wrong_count=422
fi
cat > routes.js <<JS
// What the service answers.

const STOCK = ["tea", "coffee"];

/** Status and text of the response to a request. */
export function answer(method, path, body) {
  if (method === "GET" && path === "/health") return [200, "up"];
  if (method === "POST" && path === "/api/orders") return order(body);
  return [404, "no such route"];
}

/** Takes an order. */
function order(body) {
  let wanted;
  try {
    wanted = JSON.parse(body);
  } catch {
    return [400, "not JSON"];
  }
  if (!STOCK.includes(wanted.item)) return [404, "not in stock"];
  if (!Number.isInteger(wanted.count) || wanted.count < 1) return [$wrong_count, "count is no whole number above zero"];
  return [201, \`\${wanted.count} of \${wanted.item}\`];
}
JS
echo "Orders are taken now."
