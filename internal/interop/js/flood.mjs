// Makes calls with large bodies that are refused, one after the other, with @connectrpc/connect-node, prints what they got,
// waits for a line, and makes a call that should be admitted.
//
//   node flood.mjs JOB
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { once } from "node:events";
import { serviceName } from "./schema.mjs";
import { job } from "./service.mjs";

const { descriptors, targets } = job();
const { url, httpVersion, size, calls } = targets;
const service = createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptors)).getService(serviceName);
const client = createClient(service, createConnectTransport({ baseUrl: url, httpVersion }));

async function call(text) {
  try {
    return (await client.unary({ text }, { timeoutMs: 10_000 })).text === text ? "OK" : "ANOTHER TEXT";
  } catch (err) {
    const e = ConnectError.from(err);
    return e.code === Code.ResourceExhausted && e.rawMessage === "server busy" ? "RESOURCE_EXHAUSTED" : e.message;
  }
}

const refused = {};
for (let i = 0, others = 0; i < calls && others < 3; i++) {
  const got = await call("x".repeat(size));
  refused[got] = (refused[got] ?? 0) + 1;
  others += got === "RESOURCE_EXHAUSTED" ? 0 : 1; // three are enough to see that something is wrong
}
console.log(JSON.stringify({ refused }));
await once(process.stdin, "data");
console.log(JSON.stringify({ code: await call("hello") }));
process.exit(0);
