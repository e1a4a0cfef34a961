// Calls each target of the job once, with @grpc/grpc-js and the retry policy of the target, and reports what it saw.
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";
import { serviceName } from "./schema.mjs";
import { job, report } from "./service.mjs";

const { descriptors, targets } = job();
const loaded = grpc.loadPackageDefinition(loader.loadFileDescriptorSetFromBuffer(descriptors, {}));
const Service = serviceName.split(".").reduce((at, part) => at[part], loaded);

function unary(client, metadata, options) {
  return new Promise((resolve, reject) => {
    client.Unary({ text: "hello" }, metadata, options, (err, res) => (err ? reject(err) : resolve(res.text)));
  });
}

function serverStream(client, metadata, options) {
  return new Promise((resolve, reject) => {
    let text;
    const stream = client.ServerStream({ text: "hello", count: 1 }, metadata, options);
    stream.on("data", (res) => (text = res.text));
    stream.on("error", reject);
    stream.on("end", () => resolve(text));
  });
}

const results = [];
for (const { addr, shape, backoff, deadlineMs } of targets) {
  const policy = {
    maxAttempts: 5,
    initialBackoff: backoff,
    maxBackoff: backoff,
    backoffMultiplier: 1,
    retryableStatusCodes: ["RESOURCE_EXHAUSTED"],
  };
  const client = new Service(addr, grpc.credentials.createInsecure(), {
    "grpc.service_config": JSON.stringify({ methodConfig: [{ name: [{}], retryPolicy: policy }], loadBalancingConfig: [] }),
  });
  const call = shape === "unary" ? unary : serverStream;
  const outcome = call(client, new grpc.Metadata(), { deadline: Date.now() + deadlineMs });
  results.push(
    await outcome.then(
      (text) => ({ text }),
      (err) => ({
        code: grpc.status[err.code],
        message: err.details,
        pushback: err.metadata?.get("grpc-retry-pushback-ms")[0],
        hasDetails: err.metadata?.get("grpc-status-details-bin").length === 1,
      }),
    ),
  );
  client.close();
}
report(results);
