// What both clients share: the job that the Go test hands over, and the schema in it.
import { readFileSync } from "node:fs";

// job reads the job: a file of JSON, whose name is the one argument.
export function job() {
  const job = JSON.parse(readFileSync(process.argv[2], "utf8"));
  return { ...job, descriptors: Buffer.from(job.descriptors, "base64") };
}

// report hands the results back and ends the process, whatever connections are still open.
export function report(results) {
  process.stdout.write(JSON.stringify(results), () => process.exit(0));
}
