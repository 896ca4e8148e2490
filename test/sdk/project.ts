/** A user's project in a folder of its own: it has Millrace and zod in its node_modules, and some files. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { onTestFinished } from 'vitest';
import { TestProcess } from '../rig/cluster/process.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TSX = pathToFileURL(join(ROOT, 'node_modules/tsx/dist/loader.mjs')).href;

export interface Project {
  readonly folder: string;
  readonly file: (name: string) => string;
  /** Runs a file of the project in its folder, with Node.js. */
  readonly run: (name: string, ...args: readonly string[]) => TestProcess;
}

export function project(): Project {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-project-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(import.meta.dirname, 'project'), folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules/millrace'));
  symlinkSync(join(ROOT, 'node_modules/zod'), join(folder, 'node_modules/zod'));
  const file = (name: string): string => join(folder, name);
  const run = (name: string, ...args: readonly string[]): TestProcess =>
    TestProcess.start([TSX, file(name), ...args], { script: '--import', folder });
  return { folder, file, run };
}
