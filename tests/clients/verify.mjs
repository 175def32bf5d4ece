// Reads runs (one a line, each a JSON array of events) from a file, and has the client of the named version take each as it
// takes a stream: its schemas, then verifyEvents. Prints what it refused, as JSON: the number of the run, and why.
import { readFileSync } from "node:fs";
import * as current from "@ag-ui/client";
import * as earlier from "@ag-ui/client-0.0.59";
import { from, lastValueFrom, map, toArray } from "rxjs";

const [version, file] = process.argv.slice(2);
const takers = {
  // What it would drop or strip it warns of.
  "1.0.0": () => [current.enforceEvents(), current.verifyEvents(false)],
  "0.0.59": () => [map((event) => earlier.EventSchemas.parse(event)), earlier.verifyEvents(false)],
};
const warnings = [];
console.warn = (...words) => void warnings.push(words.join(" "));
const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
const refused = [];
for (const [number, line] of lines.entries()) {
  warnings.length = 0;
  try {
    await lastValueFrom(from(JSON.parse(line)).pipe(...takers[version](), toArray()));
  } catch (error) {
    warnings.push(String(error.message ?? error));
  }
  if (warnings.length) refused.push([number, warnings.join("; ")]);
}
console.log(JSON.stringify({ runs: lines.length, refused }));
