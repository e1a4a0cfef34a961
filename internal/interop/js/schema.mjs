// What the scripts make of the schema in a job: clients of the echo service, and what a client sees of a refusal.
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";

export const serviceName = "rpcgate.test.v1.EchoService";

// caller returns a function that makes one call over a transport and returns what it saw.
export function caller(descriptors) {
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptors));
  const service = registry.getService(serviceName);
  return (transport, shape) => {
    const client = createClient(service, transport);
    const options = { timeoutMs: 60_000, headers: { "x-request-id": "from-js" } };
    return call(client, shape, options).then((text) => ({ text }), (err) => failure(registry, err));
  };
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

function failure(registry, err) {
  const e = ConnectError.from(err);
  const detail = (name) => e.findDetails(registry.getMessage("google.rpc." + name))[0];
  return {
    code: Code[e.code],
    message: e.rawMessage,
    retryDelayMs: milliseconds(detail("RetryInfo")?.retryDelay),
    reason: detail("ErrorInfo")?.reason,
    domain: detail("ErrorInfo")?.domain,
    requestId: detail("RequestInfo")?.requestId,
    retryAfter: e.metadata.get("retry-after"),
    pushback: e.metadata.get("grpc-retry-pushback-ms"),
  };
}
