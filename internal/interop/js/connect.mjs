// Calls each target of the job once, with @connectrpc/connect-node, and reports what it saw.
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { job, report, serviceName } from "./service.mjs";

const { descriptors, targets } = job();
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptors));
const service = registry.getService(serviceName);
const retryInfo = registry.getMessage("google.rpc.RetryInfo");
const errorInfo = registry.getMessage("google.rpc.ErrorInfo");
const requestInfo = registry.getMessage("google.rpc.RequestInfo");

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

async function call(client, shape, options) {
  if (shape === "unary") {
    return (await client.unary({ text: "hello" }, options)).text;
  }
  let text;
  for await (const response of client.serverStream({ text: "hello", count: 1 }, options)) {
    text = response.text;
  }
  return text;
}

const milliseconds = (d) => (d ? Number(d.seconds) * 1000 + d.nanos / 1e6 : undefined);

function failure(err) {
  const e = ConnectError.from(err);
  const [info] = e.findDetails(errorInfo);
  const [request] = e.findDetails(requestInfo);
  const [retry] = e.findDetails(retryInfo);
  return {
    code: Code[e.code],
    message: e.rawMessage,
    retryDelayMs: milliseconds(retry?.retryDelay),
    reason: info?.reason,
    domain: info?.domain,
    requestId: request?.requestId,
    retryAfter: e.metadata.get("retry-after"),
    pushback: e.metadata.get("grpc-retry-pushback-ms"),
  };
}

const results = [];
for (const target of targets) {
  const client = createClient(service, transport(target));
  const options = { timeoutMs: 60_000, headers: { "x-request-id": "from-js" } };
  results.push(await call(client, target.shape, options).then((text) => ({ text }), failure));
}
report(results);
