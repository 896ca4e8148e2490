import { expect, test } from 'vitest';
import { freePort } from '../../../../test/rig/cluster/free-port.ts';
import { databaseName } from './database-name.ts';
import { openPostgresStore } from './open.ts';

test.each([
  ['postgres://me:secret@db.example:5433/mill?sslmode=require', 'database mill at db.example:5433'],
  ['postgres://me:secret@db.example/mill', 'database mill at db.example:5432'],
  ['postgresql://me@[::1]:1/a%20b', 'database a b at [::1]:1'],
  ['postgres://db.example', 'database (default) at db.example:5432'],
  ['postgres:///mill?host=/run/pg', 'database mill at /run/pg:5432'],
  ['postgres://me:secret@one:1,two:2/mill', null],
  ['postgres://me:secret@db/%', null],
])('%s is shown as %s', (url, shown) => {
  expect(databaseName(url)).toBe(shown);
});

test('a database that cannot be reached is named, and its password is not', async () => {
  const port = await freePort();
  const url = `postgres://me:correct-horse@127.0.0.1:${port}/mill`;
  const error: unknown = await openPostgresStore({ url }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    code: 'store_unavailable',
    what: expect.stringContaining(
      `(database mill at 127.0.0.1:${port}) is not available`,
    ) as string,
  });
  expect(JSON.stringify(error) + String(error)).not.toContain('correct-horse');
});
