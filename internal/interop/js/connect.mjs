// Calls each target of the job once, with @connectrpc/connect-node, and reports what it saw.
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { caller } from "./schema.mjs";
import { job, report } from "./service.mjs";

const { descriptors, targets } = job();

function transport({ protocol, url, httpVersion, useHttpGet }) {
  switch (protocol) {
    case "connect":
      return createConnectTransport({ baseUrl: url, httpVersion, useHttpGet });
    case "grpc":
      return createGrpcTransport({ baseUrl: url });
    case "grpc-web":
      return createGrpcWebTransport({ baseUrl: url, httpVersion });
  }
}

const call = caller(descriptors);
const results = [];
for (const target of targets) {
  results.push(await call(transport(target), target.shape));
}
report(results);
