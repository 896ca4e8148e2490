import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { instant } from '../../core/index.ts';
import { candidacy, TestLeader } from '../../../../test/rig/conformance/leader.ts';
import {
  AT,
  aJob,
  aSignal,
  aSpec,
  aTask,
  jobId,
  succeeded,
  termId,
} from '../../../../test/rig/conformance/rows.ts';
import { openDuckdbStore } from './duckdb.ts';
import { openFile } from './file.ts';
import { nameHash } from './hash-index.ts';
import { migrateDuckdb } from './migrate.ts';

let folder = '';
let path = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-file-'));
  path = join(folder, 'store.db');
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

describe('the file belongs to one process', () => {
  test('a second process gets an error that says which file it is, who has it and what to do', async () => {
    const store = await openDuckdbStore({ path });
    const script = `
      import { openDuckdbStore } from ${JSON.stringify(join(import.meta.dirname, 'duckdb.ts'))};
      const code = await openDuckdbStore({ path: ${JSON.stringify(path)} }).then(
        () => 'opened', (error) => error.code + ': ' + error.message);
      process.stdout.write(code);`;
    const args = ['--import', 'tsx', '--input-type=module', '-e', script];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const said: string[] = [];
    child.stdout.on('data', (text) => said.push(String(text)));
    await once(child, 'close');
    await store.close();
    expect(said.join('')).toMatch(/^store_locked: /);
    expect(said.join('')).toContain(path);
    expect(said.join('')).toContain(`the process ${process.pid}`);
    expect(said.join('')).toContain('PostgreSQL');
  });

  test('this process cannot open it twice either, by whatever path', async () => {
    const store = await openDuckdbStore({ path });
    const link = join(folder, 'link');
    await symlink(folder, link);
    for (const other of [path, join(folder, '.', 'store.db'), join(link, 'store.db')]) {
      await expect(openDuckdbStore({ path: other })).rejects.toMatchObject({
        code: 'store_locked',
      });
    }
    await store.close();
    await (await openDuckdbStore({ path: join(link, 'store.db') })).close();
  });

  test('a leader does not outlive its process: the next one leads at once', async () => {
    const store = await openDuckdbStore({ path });
    await store.campaign(candidacy(0));
    await store.close();
    const again = await openDuckdbStore({ path });
    expect(await again.leader(0)).toBeNull();
    const campaign = await again.campaign(candidacy(0, { term: termId('next') }));
    expect(campaign).toMatchObject({ won: true, term: { epoch: 2 } });
    await again.close();
  });

  test('closing waits for what is under way, and later calls are refused', async () => {
    const store = await openDuckdbStore({ path });
    const leader = await TestLeader.of(store, 0);
    const commits = Array.from({ length: 5 }, () => store.renew(leader.term, 1_000, 0));
    const submitted = leader.submit(aJob(1));
    const reading = store.jobs(0, { limit: 5 });
    const closed = store.close();
    await Promise.all([...commits, submitted, reading, closed, store.close()]);
    const gone = { code: 'store_unavailable' };
    await expect(store.jobs(0, { limit: 5 })).rejects.toMatchObject(gone);
    await expect(store.keys(0, ['x'])).rejects.toMatchObject(gone);
    await expect(leader.commit({})).rejects.toMatchObject(gone);
    await expect(store.dump()[Symbol.asyncIterator]().next()).rejects.toMatchObject(gone);
    const again = await openDuckdbStore({ path });
    expect(await again.jobs(0, { limit: 5 })).toHaveLength(1);
    await again.close();
  });

  test('two stores in memory have nothing to do with each other', async () => {
    const [one, two] = [
      await openDuckdbStore({ path: ':memory:' }),
      await openDuckdbStore({ path: ':memory:' }),
    ];
    await one.campaign(candidacy(0));
    expect(await two.campaign(candidacy(0))).toMatchObject({ won: true });
    await Promise.all([one.close(), two.close()]);
  });
});

describe('what cannot be opened says why', () => {
  test('a directory that is not there', async () => {
    const store = openDuckdbStore({ path: join(folder, 'none', 'store.db') });
    await expect(store).rejects.toMatchObject({ code: 'bad_setting' });
  });

  test('a file that is not a database, and it can be replaced afterwards', async () => {
    await writeFile(path, 'not a database '.repeat(1_000));
    await expect(openDuckdbStore({ path })).rejects.toMatchObject({ code: 'store_unavailable' });
    await rm(path);
    await (await openDuckdbStore({ path })).close();
  });
});

describe('migrations', () => {
  test('go up, down and up again, and tell where they are', async () => {
    const status = await migrateDuckdb({ path }, (migrations) => migrations.status());
    expect(status).toMatchObject({
      current: 0,
      pending: [
        '0001-tables',
        '0002-event-chunks',
        '0003-waits',
        '0004-terms',
        '0005-node-prefetch',
        '0006-operators',
        '0007-labels',
        '0008-flows',
        '0009-limits',
        '0010-task-log',
        '0011-journal',
        '0012-deferred-jobs',
      ],
    });
    const latest = await migrateDuckdb({ path }, (migrations) => migrations.up());
    expect(latest).toMatchObject({ current: latest.latest, pending: [] });
    expect(await migrateDuckdb({ path }, (migrations) => migrations.down(0))).toMatchObject({
      current: 0,
    });
    await (await openDuckdbStore({ path })).close();
    const again = await migrateDuckdb({ path }, (migrations) => migrations.status());
    expect(again.pending).toEqual([]);
  });

  test('tell slots and prefetch apart, and add them up again on the way down', async () => {
    await migrateDuckdb({ path }, (migrations) => migrations.up(4));
    const file = await openFile(path);
    await file.writer.script(`insert into node
      select 0, id, 's', 'healthy', false, slots, [], capabilities, null, '0', null, 1, 1 from (values
        ('a', 508, '{"slots":8,"os":"linux"}'),
        ('b', 4, '{"note":"a \\"slots\\":1"}'),
        ('c', 3, '{"slots":9}')) n(id, slots, capabilities)`);
    await file.close();
    const store = await openDuckdbStore({ path });
    const nodes = await store.nodes(0);
    await store.close();
    expect(nodes.map(({ id, slots, prefetch }) => [id, slots, prefetch])).toEqual([
      ['a', 8, 500],
      ['b', 4, 0],
      ['c', 3, 0],
    ]);
    await migrateDuckdb({ path }, (migrations) => migrations.down(4));
    const again = await openFile(path);
    const rows = await again.writer.rows('select slots, capabilities from node order by id');
    await again.close();
    expect(JSON.stringify(rows)).toContain('"{\\"slots\\":4,\\"note\\":');
    expect(JSON.stringify(rows)).toContain('508');
  });

  test('turn events into chunks and back, to the letter', async () => {
    await migrateDuckdb({ path }, (migrations) => migrations.up(1));
    const run = async (...statements: string[]): Promise<unknown> => {
      const file = await openFile(path);
      for (const sql of statements) await file.writer.script(sql);
      const rows = await file.writer.rows('select * from event order by all').catch(() => null);
      await file.close();
      return rows;
    };
    const before = await run(
      `insert into shard values (0, 1, 'x', 0, 1), (3, 1, 'x', 1201, 9007199254740991)`,
      `insert into event select 3, i + 1, 8640000000000000 - i % 3, i % 30,
         case when i % 7 > 0 then 9007199254740990 - i % 5 end, case when i % 2 = 0 then i end,
         case when i % 3 = 0 then 'w-' || i end, 1, case when i % 4 = 0 then i end, 2147483647,
         case when i % 5 = 0 then '"\\u0000 ''ü"' end from range(699, 1201) t(i)`,
    );
    expect(before).toHaveLength(502);
    const store = await openDuckdbStore({ path });
    await expect(store.events(3, 698, 9)).rejects.toMatchObject({ code: 'not_found' });
    const events = await store.events(3, 699, 1_000);
    expect(events).toHaveLength(502);
    expect(events[1]).toMatchObject({
      seq: 701,
      at: 8_639_999_999_999_999,
      detail: '"\\u0000 \'ü"',
    });
    expect(events[2]).toMatchObject({ jobNo: 9_007_199_254_740_989, attempt: null, nodeId: null });
    await store.close();
    await migrateDuckdb({ path }, (migrations) => migrations.down(1));
    expect(await run()).toEqual(before);
  });

  test('bring rows of before signals through, down again and up again', async () => {
    await migrateDuckdb({ path }, (migrations) => migrations.up(2));
    const rows = async (...statements: string[]): Promise<unknown> => {
      const file = await openFile(path);
      for (const sql of statements) await file.writer.script(sql);
      const tables = ['job', 'task', 'history'].map((table) =>
        file.writer.rows(`select * from ${table} order by all`),
      );
      const found = await Promise.all(tables);
      await file.close();
      return found;
    };
    const before = await rows(
      `insert into shard values (0, 1, 'x', 0, 2, 1)`,
      `insert into job values (0, 1, 'job-1', ${nameHash('job-1')}, 'nightly', 2, null, null, null, 'finish',
         null, null, 5, 'running', 1, 100, null, null, null, null, null)`,
      `insert into spec select 0, 1, i, 'task-' || i, 'echo', 2, null, [], null, null, null from range(100) t(i)`,
      `insert into task select 0, 1, i, 'delayed', 1, 1, 0, 0, 1, 't', 'w', null, null, 'time', 7 + i, 0.5,
         'e', 'm', 1, 2, null from range(100) t(i)`,
      `insert into history from task where task_no = 3`,
    );
    await migrateDuckdb({ path }, (migrations) => migrations.up());
    await migrateDuckdb({ path }, (migrations) => migrations.down(2));
    expect(await rows()).toEqual(before);
    const store = await openDuckdbStore({ path });
    const image = await store.loadJob(0, jobId('job-1'));
    expect(image).toMatchObject({ job: { output: null, createdAt: 5 }, signals: [] });
    expect(image?.tasks).toHaveLength(100);
    expect(image?.tasks[42]).toMatchObject({ suspended: 'time', waits: null, notBefore: 49 });
    // A row still fits the history, column by column.
    const leader = await TestLeader.of(store, 0);
    leader.nextJobNo = 2;
    const waiting = aTask(1, 0, { run: 2, state: 'blocked', suspended: 'job', waits: '{}' });
    await leader.commit({ archived: [waiting], taskUpdates: [waiting] });
    await leader.commit({ archived: [waiting], taskUpdates: [aTask(1, 0, { run: 3 })] });
    const view = await store.job(0, jobId('job-1'));
    expect(view?.history.at(-1)).toEqual(waiting);
    await store.close();
  });

  test('let a task that waits for a signal or a job go on in a version that knows neither', async () => {
    const store = await openDuckdbStore({ path });
    const leader = await TestLeader.of(store, 0);
    await leader.submit(
      aJob(1, { output: '1' }),
      [aSpec(1, 0), aSpec(1, 1), aSpec(1, 2)],
      [
        aTask(1, 0, { state: 'blocked', suspended: 'signal', waits: '{}', queuedAt: null }),
        aTask(1, 1, { state: 'delayed', suspended: 'job', waits: '{}', notBefore: AT }),
        aTask(1, 2, { state: 'blocked', suspended: 'children', queuedAt: null }),
      ],
    );
    await leader.commit({ signalInserts: [aSignal(1, 0)] });
    await store.close();
    await migrateDuckdb({ path }, (migrations) => migrations.down(2));
    const file = await openFile(path);
    const tasks = await file.reader.rows(
      'select state, suspended, queued_at is not null from task order by task_no',
    );
    await file.close();
    expect(tasks).toEqual([
      ['ready', 'time', true],
      ['delayed', 'time', true],
      ['blocked', 'children', false],
    ]);
    const again = await openDuckdbStore({ path });
    const image = await again.loadJob(0, jobId('job-1'));
    expect(image).toMatchObject({ job: { output: null }, signals: [] });
    await again.close();
  });

  test('an old file is refused when it must not be migrated', async () => {
    const store = openDuckdbStore({ path, migrate: false });
    await expect(store).rejects.toMatchObject({ code: 'store_version' });
  });

  test('a file of a newer build is refused', async () => {
    await (await openDuckdbStore({ path })).close();
    const file = await openFile(path);
    await file.writer.run('insert into millrace_migration values ($1, $2)', ...later());
    await file.close();
    await expect(openDuckdbStore({ path })).rejects.toMatchObject({ code: 'store_version' });
  });

  const later = () => [99, '0099-later'];
});

describe('space', () => {
  const MIB = 1024 * 1024;

  test('the log stays short, and what is deleted is used again', async () => {
    const store = await openDuckdbStore({ path, logBytes: 2 * MIB });
    const leader = await TestLeader.of(store, 0);
    const ended = { state: 'succeeded', finishedAt: instant(1) } as const;
    const write = async (): Promise<void> => {
      for (let batch = 0; batch < 15; batch += 1) {
        const jobs = Array.from({ length: 40 }, (_, at) => aJob(leader.nextJobNo + at, ended));
        await leader.commit({
          jobInserts: jobs,
          specInserts: jobs.map(({ no }) => aSpec(no, 0, { input: noise(no) })),
          taskInserts: jobs.map(({ no }) => succeeded(no, 0)),
        });
        // The tables follow the journal.
        await store.jobs(0, { limit: 1 });
        expect(statSync(`${path}.wal`, { throwIfNoEntry: false })?.size ?? 0).toBeLessThan(4 * MIB);
      }
    };
    const retention = { jobsMs: 0, eventsMs: 0, keysMs: 0, jobsMax: 10_000 };
    await write();
    await store.prune(leader.term, retention);
    const first = statSync(path).size;
    for (let round = 0; round < 3; round += 1) {
      await write();
      await store.prune(leader.term, retention);
    }
    expect(statSync(path).size).toBeLessThan(first * 2);
    await store.close();
    // A node's start and end write and fold in: that can cut off what was freed before.
    const again = await openDuckdbStore({ path });
    await again.campaign(candidacy(0, { term: termId('again') }));
    await again.close();
    expect(statSync(path).size).toBeLessThan(first / 4);
    expect(statSync(`${path}.wal`, { throwIfNoEntry: false })).toBeUndefined();
  });

  /** Some 10 kB that do not compress. */
  function noise(seed: number): string {
    let state = seed;
    const letters = Array.from({ length: 3_500 }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return String.fromCharCode(0x4e00 + (state >>> 18));
    });
    return JSON.stringify(letters.join(''));
  }
});

test('a file whose last checkpoint fails is closed all the same, and can be opened again', async () => {
  const file = await openFile(path);
  await file.writer.script('create table kept (n integer)');
  // Within a transaction that changed something there is no checkpoint.
  await file.writer.script('begin; insert into kept values (1)');
  await expect(file.close()).rejects.toMatchObject({ code: 'store_unavailable' });
  const again = await openFile(path);
  expect(await again.reader.rows('select count(*)::integer from kept')).toEqual([[0]]);
  await again.close();
});
