import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { quotedPath } from '../sql/reader.ts';
import { Instances, type InstanceRequest, type PooledInstance } from './instances.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-instances-'));
const at = (name: string): string => join(folder, name);
mkdirSync(at('own'));
for (const name of ['a.csv', 'b.csv', 'c.csv']) writeFileSync(at(name), 'x\n1\n');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const settings = {
  ...{ memoryBytes: 2 ** 27, threads: 1, spillFolder: at('spill'), spillBytesMax: 2 ** 30 },
  ...{ folder: at('own'), isPlanning: false },
};

type Taken = (names: readonly string[], wish?: Partial<InstanceRequest>) => Promise<PooledInstance>;

/** Takes instances by the names of their files. */
function opener(): Taken {
  const instances = new Instances(settings);
  return async (names, wish = {}) => {
    const taken = await instances.take({ kind: 'k', files: names.map(at), ...wish });
    onTestFinished(taken.release);
    return taken;
  };
}

async function canRead({ sessions }: PooledInstance, name: string): Promise<boolean> {
  const session = await sessions.take();
  onTestFinished(() => session.connection.closeSync());
  return session.connection.run(`SELECT * FROM read_csv(${quotedPath(at(name))})`).then(
    () => true,
    () => false,
  );
}

test('files that are open already need no other instance, and new ones are opened beside them', async () => {
  const take = opener();
  const first = await take(['a.csv']);
  expect(await canRead(first, 'a.csv')).toBe(true);
  expect(await canRead(first, 'b.csv')).toBe(false);
  const both = await take(['b.csv']);
  expect(both.instance).not.toBe(first.instance);
  for (const names of [['a.csv'], ['b.csv', 'a.csv'], []])
    expect((await take(names)).instance).toBe(both.instance);
  expect(await canRead(both, 'a.csv')).toBe(true);
  expect(await canRead(both, 'c.csv')).toBe(false);
});

test('kinds share nothing', async () => {
  const take = opener();
  const first = await take(['a.csv']);
  const other = await take(['b.csv'], { kind: 'other' });
  expect(other.instance).not.toBe(first.instance);
  expect(await canRead(other, 'a.csv')).toBe(false);
});

test('a name has one meaning in an instance', async () => {
  const take = opener();
  const meaning = (of: string) => ({ meanings: new Map([['view v', of]]) });
  const first = await take(['a.csv'], meaning('1'));
  const other = await take(['a.csv'], meaning('2'));
  expect(other.instance).not.toBe(first.instance);
  expect((await take(['a.csv'], meaning('1'))).instance).toBe(first.instance);
  expect((await take(['a.csv'], meaning('2'))).instance).toBe(other.instance);
});

test('too many files together are not opened together', async () => {
  const take = opener();
  await take(Array.from({ length: 127 }, (_, no) => `many/${no}.csv`));
  const own = await take(['a.csv', 'b.csv']);
  const more = await take(['c.csv']);
  expect(await canRead(own, 'a.csv')).toBe(true);
  expect(await canRead(more, 'a.csv')).toBe(true);
  expect((await take(['many/0.csv', 'a.csv'])).instance).not.toBe(more.instance);
});

test('an act is done once in an instance, and again if it has failed', async () => {
  const take = opener();
  const [one, same] = [await take(['a.csv']), await take(['a.csv'])];
  let acts = 0;
  const act = async (): Promise<void> => {
    acts += 1;
    if (acts === 1) throw new Error('the first one');
  };
  await expect(one.once('n', act)).rejects.toThrow('the first one');
  await Promise.all([one.once('n', act), same.once('n', act)]);
  expect(acts).toBe(2);
});
