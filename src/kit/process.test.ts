import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startProcess } from './process.ts';

let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-process-'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(
    join(folder, 'echo.js'),
    `process.on('message', (m) => process.send({ got: m, env: { ...process.env }, flags: process.execArgv }));
     process.on('disconnect', () => process.exit(7));`,
  );
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a process is started from a module beside, hears and answers, and knows only the environment it was given', async () => {
  const child = startProcess(pathToFileURL(join(folder, 'main.js')).href, './echo', {
    env: { TEST_ONLY: 'yes' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  child.send({ bytes: new Uint8Array([1, 2]), when: new Date(5) });
  const [message] = (await once(child, 'message')) as [
    { got: { bytes: Uint8Array; when: Date }; env: NodeJS.ProcessEnv; flags: string[] },
  ];
  expect(message.got.bytes).toEqual(new Uint8Array([1, 2]));
  expect(message.got.when).toEqual(new Date(5));
  // Node.js itself hands this one on while coverage is measured.
  const { NODE_V8_COVERAGE: _, ...env } = message.env;
  expect(env).toEqual({ TEST_ONLY: 'yes' });
  expect(message.flags).toEqual([]);
  child.disconnect();
  expect(await once(child, 'exit')).toEqual([7, null]);
});

test('a module that is TypeScript runs as well, with what it imports', async () => {
  writeFileSync(join(folder, 'other.ts'), 'export const word: string = "typed";');
  writeFileSync(
    join(folder, 'source.ts'),
    `import { word } from './other.ts'; process.send?.(word satisfies string);`,
  );
  // tsx is found from the file that asks, so that one has to lie in this package.
  const child = startProcess(import.meta.url, pathToFileURL(join(folder, 'source')).href, {
    env: {},
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  expect(await once(child, 'message')).toEqual(['typed', undefined]);
  await once(child, 'exit');
});
