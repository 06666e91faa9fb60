/// `/openapi.json`.
let openAPIDocument = "{}"
