// Calls each target of the job once, in a browser, with @connectrpc/connect-web or fetch, and reports what it saw.
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { caller } from "./schema.mjs";

const { descriptors, targets } = await (await fetch("/job")).json();
const call = caller(Uint8Array.from(atob(descriptors), (c) => c.charCodeAt(0)));

// get makes a request that needs a preflight.
async function get(url) {
  try {
    const response = await fetch(url, { headers: { "x-request-id": "from-js" } });
    return { code: String(response.status), retryAfter: response.headers.get("retry-after") };
  } catch (err) {
    return { message: err.message };
  }
}

function see({ protocol, url, useHttpGet, shape }) {
  switch (protocol) {
    case "connect":
      return call(createConnectTransport({ baseUrl: url, useHttpGet }), shape);
    case "grpc-web":
      return call(createGrpcWebTransport({ baseUrl: url }), shape);
    case "fetch":
      return get(url);
  }
}

const results = [];
for (const target of targets) {
  results.push(await see(target));
}
await fetch("/report", { method: "POST", body: JSON.stringify(results) });
