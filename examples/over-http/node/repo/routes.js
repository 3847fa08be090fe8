// What the service answers.

/** Status and text of the response to a request. */
export function answer(method, path) {
  if (method === "GET" && path === "/health") return [200, "up"];
  return [404, "no such route"];
}
