import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

function buf(...args: string[]): string {
  const path = join(root, 'node_modules', '.bin', 'buf');
  return execFileSync(path, args, { cwd: root, encoding: 'utf8', stdio: 'pipe' });
}

function filesBelow(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => name.endsWith('.ts')).toSorted();
  return Object.fromEntries(files.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

test('the wire contract passes its linter', () => {
  expect(buf('lint')).toBe('');
});

test('the generated code is what the contract gives today', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-proto-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  buf('generate', '--output', folder);
  const fresh = filesBelow(join(folder, 'src/edge/grpc/gen'));
  expect(Object.keys(fresh)).toContain(join('millrace', 'v1', 'control_plane.ts'));
  expect(filesBelow(join(root, 'src/edge/grpc/gen'))).toEqual(fresh);
});
