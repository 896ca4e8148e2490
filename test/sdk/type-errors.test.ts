import { createRequire } from 'node:module';
import { beforeAll, expect, test, vi } from 'vitest';
import { MISTAKES, complaints } from './mistakes.ts';

vi.setConfig({ hookTimeout: 120_000 });

let said: readonly string[] = [];
beforeAll(async () => {
  const { resolve } = createRequire(import.meta.url);
  said = await complaints(resolve('typescript/package.json').replace('package.json', 'bin/tsc'));
});

test.each(MISTAKES.map(([what, , says], at) => [what, says, at] as const))(
  'TypeScript 7 shows what is wrong with %s',
  (_, says, at) => {
    expect(said[at]).toMatch(says);
  },
);
