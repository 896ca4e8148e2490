import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Sessions } from './sessions.ts';
import { type SessionConnection, Work } from './work.ts';

let instance: DuckDBInstance;

beforeAll(async () => {
  instance = await DuckDBInstance.create(':memory:', { threads: '1' });
});

afterAll(() => instance.closeSync());

const zoneOf = async (connection: SessionConnection): Promise<unknown> =>
  (await connection.texts(`SELECT current_setting('TimeZone')`))[0]?.[0];

/** Long enough to be interrupted many times over. */
const LONG = 'SELECT count(*)::VARCHAR FROM range(20000000) t(i) WHERE hash(i) % 7 = 3';

test('gives a returned connection to the next call, with its time zone', async () => {
  const sessions = new Sessions(instance);
  const one = new Work();
  const first = await one.take(sessions, 'run');
  await first.begin('Europe/Berlin', 'CREATE TEMP TABLE mark(i INTEGER)');
  first.giveBack();
  one.end();
  const other = new Work();
  const second = await other.take(sessions, 'run');
  expect(await zoneOf(second)).toBe('Europe/Berlin');
  await second.run('FROM mark');
  await second.begin('Asia/Tokyo');
  expect(await zoneOf(second)).toBe('Asia/Tokyo');
  other.end();
  // It was not given back, and so it is closed.
  const third = await new Work().take(sessions, 'run');
  await expect(third.run('FROM mark')).rejects.toThrow('mark');
});

test('does not assume a time zone that could not be set', async () => {
  const sessions = new Sessions(instance);
  const one = new Work();
  const connection = await one.take(sessions, 'run');
  await connection.begin('UTC');
  await expect(connection.begin('Nowhere/None')).rejects.toThrow('Nowhere');
  await connection.begin('UTC');
  expect(await zoneOf(connection)).toBe('UTC');
  one.end();
});

test('a late abort does not reach the call that has the connection now', async () => {
  const sessions = new Sessions(instance);
  for (const isEnded of [true, false]) {
    const one = new Work();
    const first = await one.take(sessions, 'run');
    await first.run('SELECT 1');
    first.giveBack();
    if (isEnded) one.end();
    const other = new Work();
    const second = await other.take(sessions, 'run');
    const running = second.texts(LONG);
    one.abort();
    expect(await running).toHaveLength(1);
    one.end();
    second.giveBack();
    other.end();
  }
});

test('never reuses an interrupted connection', async () => {
  const sessions = new Sessions(instance);
  const one = new Work();
  const first = await one.take(sessions, 'run');
  await first.begin('UTC', 'CREATE TEMP TABLE interrupted(i INTEGER)');
  const running = first.texts(LONG);
  one.abort();
  await expect(running).rejects.toMatchObject({ fault: { code: 'interrupted' } });
  first.giveBack();
  const other = new Work();
  const second = await other.take(sessions, 'run');
  await expect(second.run('FROM interrupted')).rejects.toThrow('interrupted');
  const [[rows] = []] = await second.texts(LONG);
  expect(Number(rows)).toBeGreaterThan(0);
  one.end();
  other.end();
});

test('returns a connection once, however often it is called', async () => {
  const sessions = new Sessions(instance);
  const one = new Work();
  const first = await one.take(sessions, 'run');
  first.giveBack();
  first.giveBack();
  one.end();
  const taken = [await sessions.take(), await sessions.take()];
  expect(taken[0]?.connection).not.toBe(taken[1]?.connection);
});

test('keeps only a few idle connections', async () => {
  const sessions = new Sessions(instance);
  const all = await Promise.all(Array.from({ length: 10 }, () => sessions.take()));
  for (const each of all) sessions.giveBack(each);
  const again = await Promise.all(Array.from({ length: 10 }, () => sessions.take()));
  expect(
    again.filter(({ connection }) => all.some((each) => each.connection === connection)),
  ).toHaveLength(4);
});
