#!/usr/bin/env node
import { existsSync } from 'node:fs';

const main = new URL('../dist/cli/main.js', import.meta.url);
if (existsSync(main)) {
  await import(main.href);
} else {
  process.stderr.write('millrace: not built yet. Run `npm ci` in the folder of Millrace first.\n');
  process.exitCode = 2;
}
