import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { asOf, over, runAgainst, shape, summary } from '../../test/rig/command-line.ts';
import {
  eventStream,
  notLeader,
  problem,
  ScriptedServer,
  sse,
} from '../../test/rig/scripted-server.ts';
import { exit } from './exit.ts';

const JOB = 'GET /api/v1/jobs/j-1';
const JOBS = 'GET /api/v1/jobs';
const page = { jobs: [summary], cursor: null, asOf };

let server: ScriptedServer;
let folder: string;

beforeEach(async () => {
  server = await ScriptedServer.start();
  folder = mkdtempSync(join(tmpdir(), 'millrace-commands-'));
});
afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

const millrace = (args: readonly string[], signal?: AbortSignal) =>
  runAgainst(server, args, signal);

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

describe('looking', () => {
  test('open names the address of the dashboard of a server that answers', async () => {
    server.script('GET /api/v1/nodes', { json: { nodes: [], asOf } });
    const { out, code } = await millrace(['open', '--no-browser', '--json']);
    expect([code, JSON.parse(out)]).toEqual([exit.done, { url: `${server.url}/`, opened: false }]);
  });

  test('jobs shows a table, newest first', async () => {
    server.script(JOBS, { json: { ...page, cursor: 'more' } });
    const { out } = await millrace([
      'jobs',
      '--state',
      'running',
      '--name',
      'nightly',
      '--limit',
      '1',
    ]);
    expect(out.split('\n')).toEqual([
      'ID   NAME     STATE    TASKS  CREATED  TOOK',
      'j-1  nightly  running      2  2m ago   1m',
      'There are more: --limit 10',
      '',
    ]);
    expect(server.received[0]?.query).toEqual({ state: 'running', name: 'nightly', limit: '1' });
  });

  test('jobs --json is the page itself, over as many pages as it takes', async () => {
    const full = { ...page, jobs: Array.from({ length: 1_000 }, () => summary), cursor: 'next' };
    server.script(JOBS, { json: full }, { json: page });
    const { out } = await millrace(['jobs', '--limit', '1200', '--json']);
    const answer = JSON.parse(out) as typeof page;
    expect(answer).toMatchObject({ cursor: null, asOf });
    expect(answer.jobs).toHaveLength(1_001);
    expect(server.received[1]?.query).toEqual({ limit: '200', cursor: 'next' });
  });

  test('a name cannot move the cursor of a terminal', async () => {
    server.script(JOBS, { json: { ...page, jobs: [{ ...summary, name: 'a\u001b[2Jb' }] } });
    expect((await millrace(['jobs'])).out).toContain('a\uFFFD[2Jb');
  });

  test('job shows its tasks, and why one waits', async () => {
    server.script(JOB, { json: shape });
    const { out } = await millrace(['job', 'j-1']);
    expect(out).toContain('1 of 2 succeeded, 1 ready');
    expect(out).toMatch(/^sum +ready +add +1 +- +- +no node has add$/m);
    expect(out).toContain('millrace explain j-1/sum');
    expect(JSON.parse((await millrace(['job', 'j-1', '--json'])).out)).toEqual(shape);
  });

  test('job shows the result of a job that succeeded', async () => {
    server.script(JOB, { json: { ...over, result: { sum: 4 } } });
    expect((await millrace(['job', 'j-1'])).out).toMatch(/^result +\{"sum":4\}$/m);
    server.script(JOB, { json: { ...over, result: 'x'.repeat(5_000) } });
    expect((await millrace(['job', 'j-1'])).out).toMatch(/^result +"x{398}…$/m);
  });

  test('job says which signal it waits for, and how to send it', async () => {
    const [first, second] = shape.tasks;
    const waiting = 'waits for signal approved';
    const tasks = [first, { ...second, state: 'blocked', waiting }];
    server.script(JOB, { json: { ...shape, tasks } });
    const { out } = await millrace(['job', 'j-1']);
    expect(out).toMatch(/^sum +blocked .*waits for signal approved$/m);
    expect(out).toContain(`millrace signal j-1 approved '{"ok": true}'`);
  });

  test('job --follow ends with the job, and with 1 unless it succeeded', async () => {
    const failed = { ...over, state: 'failed', asOf: { ...asOf, seq: 10 } };
    server.script(JOB, { json: shape }, { json: shape }, { json: failed });
    const end = sse(10, 'job.failed', { job: 'j-1' });
    server.script('GET /api/v1/events', eventStream(end));
    const followed = await millrace(['job', 'j-1', '--follow', '--json']);
    expect(followed.code).toBe(exit.workFailed);
    expect(JSON.parse(followed.out)).toEqual(failed);
    expect(followed.err).toContain('job.failed');
    server.script(JOB, { json: over });
    expect((await millrace(['job', 'j-1', '--follow'])).code).toBe(exit.done);
  });

  test('a missing job is reported as such', async () => {
    server.script(JOB, problem(404, { code: 'not_found', detail: 'There is no job j-1.' }));
    const { code, err } = await millrace(['job', 'j-1']);
    expect({ code, err }).toEqual({ code: 2, err: 'millrace: There is no job j-1.\n' });
  });

  test('nodes shows what each does', async () => {
    const node = {
      id: 'w-1',
      status: 'healthy',
      draining: true,
      quarantinedUntil: '2026-11-15T06:05:00.000Z',
      running: 3,
      slots: 8,
      seenAt: '2026-11-15T05:59:59.500Z',
      version: '0.1.0',
      executors: ['echo', 'http'],
      capabilities: { pressure: 'disk' },
    };
    server.script('GET /api/v1/nodes', { json: { nodes: [node], asOf } });
    const { out } = await millrace(['nodes']);
    expect(out).toContain('healthy (draining; short of disk; quarantined, ends in 5m)');
    expect(out).toMatch(/ 3 +8 +500ms ago +0\.1\.0 +echo http$/m);
  });

  test('nodes can be asked for by what they run, and a task for its lease', async () => {
    server.script('GET /api/v1/nodes', { json: { nodes: [], asOf } });
    const asked = ['nodes', '--executor', 'train', '--capability', 'gpu:nvidia'];
    expect((await millrace(asked)).out).toContain('No node has all of that');
    expect(server.received.at(-1)?.query).toEqual({ executor: 'train', capability: 'gpu:nvidia' });
    const lease = { node: 'w-1', attempt: 2, fence: 5, since: asOf.at, expiresAt: asOf.at };
    const task = {
      ...{ id: 'a', state: 'running', executor: 'echo', attempt: 2, run: 1, node: 'w-1' },
      ...{ input: { n: 1 }, placement: null, attempts: [], waiting: null, lease, asOf },
      ...{ resolvedInput: { n: 2 }, steps: [{ name: 'pay', result: 'r-1' }], result: null },
      error: { code: 'failed', message: 'a\u001B[2Jb\u202E' },
    };
    server.script('GET /api/v1/jobs/j-1/tasks/a', { json: task });
    const { out } = await millrace(['job', 'j-1/a']);
    expect((await millrace(['job', 'j-1', '--task', 'a'])).out).toBe(out);
    expect(out).toContain('input      {"n":2}');
    expect(out).toContain('step       pay: "r-1"');
    expect(out).toContain('lease      node w-1, attempt 2, fence 5, since');
    expect(out).toContain('failed: a\uFFFD[2Jb\uFFFD');
    expect(out).toContain('placement  any node');
  });

  test('explain says why a task waits and what the nearest nodes lack', async () => {
    const nearest = [{ nodeId: 'w-1', lacks: ['executor add', 'gpu = nvidia'] }];
    const json = {
      state: 'ready',
      code: 'no_node_fits',
      why: 'no node fits',
      ageMs: 65_000,
      nearest,
    };
    server.script('GET /api/v1/jobs/j-1/tasks/sum/explain', { json });
    const { out } = await millrace(['explain', 'j-1/sum']);
    expect(out).toBe(
      'Task sum is ready for 1m 5s: no node fits.\n  w-1 lacks executor add, gpu = nvidia\n',
    );
    expect((await millrace(['explain', 'j-1'])).code).toBe(exit.wrongUse);
  });
});

describe('events', () => {
  const log = [sse(8, 'created', { job: 'j-1' }), sse(9, 'node.registered', { node: 'w-1' })];

  test('without --follow shows what is there and ends', async () => {
    server.script(JOBS, { json: page }).script('GET /api/v1/events', eventStream(...log));
    server.script(JOB, { json: shape });
    const { code, out } = await millrace(['events', '--job', 'j-1']);
    expect(code).toBe(exit.done);
    expect(out.trimEnd().split('\n')).toHaveLength(2);
    expect(server.received.at(-1)?.query).toEqual({ after: '0', job: 'j-1' });
  });

  test('--json is one object a line', async () => {
    server.script(JOBS, { json: page }).script('GET /api/v1/events', eventStream(...log));
    const { out, err } = await millrace(['events', '--after', '7', '--json']);
    const lines = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(lines).toMatchObject([
      { seq: 8, job: 'j-1' },
      { seq: 9, kind: 'node.registered' },
    ]);
    expect(err).toBe('');
  });

  test('--follow starts now and ends with Ctrl-C', async () => {
    const interruption = new AbortController();
    server.script(JOBS, { json: page }).script('GET /api/v1/events', eventStream());
    const following = millrace(['events', '--follow'], interruption.signal);
    await server.arrival(2);
    interruption.abort();
    expect(await following).toEqual({ code: exit.interrupted, out: '', err: '' });
    expect(server.received[1]?.query).toEqual({ after: '9' });
  });

  test('past retention is reported', async () => {
    const gone = problem(410, { code: 'expired', detail: 'Events up to 90 are gone.' });
    server.script(JOBS, { json: page }).script('GET /api/v1/events', gone);
    const { code, err } = await millrace(['events', '--after', '3']);
    expect({ code, err }).toEqual({ code: 1, err: 'millrace: Events up to 90 are gone.\n' });
  });
});

describe('changing', () => {
  test('cancel hands the reason on', async () => {
    server.script('POST /api/v1/jobs/j-1/cancel', { json: shape });
    const { out } = await millrace(['cancel', 'j-1', '--reason', 'wrong input']);
    expect(out).toBe('Job j-1 is being cancelled.\n');
    expect(server.received[0]?.body).toBe('{"reason":"wrong input"}');
  });

  test('submit takes name, priority and key from the command line', async () => {
    server.script('POST /api/v1/jobs', { status: 201, json: { id: 'j-3', state: 'queued' } });
    const path = file('job.json', '{"name": "old", "tasks": [{"id": "a", "executor": "echo"}]}');
    const flags = ['--name', 'new', '--priority', '0', '--idempotency-key', 'k 1'];
    expect((await millrace(['submit', path, ...flags])).code).toBe(exit.done);
    expect(JSON.parse(server.received.at(-1)?.body ?? '')).toMatchObject({
      ...{ name: 'new', priority: 0, idempotencyKey: 'k 1' },
    });
    const urgent = await millrace(['submit', path, '--priority', 'urgent']);
    expect([urgent.code, urgent.err]).toEqual([exit.wrongUse, expect.stringContaining('priority')]);
    const many = file('jobs.json', '[{"tasks": [{"id": "a", "executor": "echo"}]}]');
    const refused = await millrace(['submit', many, '--idempotency-key', 'k']);
    expect([refused.code, refused.err]).toEqual([
      exit.wrongUse,
      expect.stringContaining('one job'),
    ]);
  });

  test('a server may be named without its scheme', async () => {
    server.script(JOBS, { json: page });
    const host = server.url.replace('http://', '');
    expect((await millrace(['jobs', '--server', host])).code).toBe(exit.done);
  });

  test('fork says the id of the new job, and asks for the task to start from', async () => {
    server.script('POST /api/v1/jobs/j-1/fork', { json: { ...shape, id: 'j-2' } });
    const { out, code } = await millrace(['fork', 'j-1', '--from', 'train']);
    expect([out, code]).toEqual(['j-2\n', exit.done]);
    expect(JSON.parse(server.received[0]?.body ?? '')).toEqual({ from: 'train' });
    await millrace(['fork', 'j-1', '--from', 'train', '--input', '{"epochs": 3}']);
    expect(server.received[1]?.body).toBe('{"from":"train","input":{"epochs":3}}');
    const lacking = await millrace(['fork', 'j-1']);
    expect([lacking.code, lacking.err]).toEqual([
      exit.wrongUse,
      expect.stringContaining('--from TASK'),
    ]);
  });

  test('redrive takes a job and a task, in one word or two', async () => {
    const route = 'POST /api/v1/jobs/j-1/tasks/charge/redrive';
    const charged = (state: string, code: string | null = null) => {
      const error = code === null ? null : { code, message: 'no money' };
      return { json: { ...shape, tasks: [{ ...shape.tasks[0], id: 'charge', state, error }] } };
    };
    server.script(route, { json: shape });
    server.script(JOB, charged('failed', 'dead'), charged('failed', 'dead'), charged('running'));
    const line = 'Task charge of job j-1 runs again.\n';
    expect((await millrace(['redrive', 'j-1', 'charge'])).out).toBe(line);
    expect((await millrace(['redrive', 'j-1/charge'])).out).toBe(line);
    const left = (await millrace(['redrive', 'j-1/charge'])).out;
    expect(left).toBe('Task charge of job j-1 was not dead: it is running.\n');
    expect(await millrace(['redrive', 'j-1'])).toMatchObject({ code: exit.wrongUse });
  });

  test('rerun says which run it is', async () => {
    server.script(JOB, { json: { ...over, state: 'failed' } });
    server.script('POST /api/v1/jobs/j-1/rerun', { json: { ...shape, run: 2 } });
    expect((await millrace(['rerun', 'j-1'])).out).toBe('Job j-1 is running, run 2.\n');
  });

  test('drain --wait looks until the node is empty', async () => {
    const nodes = (running: number) => ({ json: { nodes: [{ id: 'w-1', running }], asOf } });
    server.script('POST /api/v1/nodes/w-1/drain', { json: { id: 'w-1' } });
    server.script('GET /api/v1/nodes', nodes(2), nodes(0));
    const { code, out } = await millrace(['drain', 'w-1', '--wait']);
    expect(code).toBe(exit.done);
    expect(out).toContain('It still holds 2 tasks.\nNode w-1 is drained.\n');
  });

  test('release takes a node back', async () => {
    server.script('POST /api/v1/nodes/w-1/release', { json: { id: 'w-1' } });
    expect((await millrace(['release', 'w-1'])).out).toBe('Node w-1 accepts work again.\n');
  });

  test('signal tells a job something, once', async () => {
    server.script('POST /api/v1/jobs/j-1/signals/approved', { json: shape });
    const sent = await millrace(['signal', 'j-1', 'approved', '{"by": "ada"}', '--id', 'once']);
    expect(sent).toEqual({ code: 0, out: 'Sent signal approved to job j-1.\n', err: '' });
    expect(server.received[0]).toMatchObject({
      body: '{"by":"ada"}',
      headers: { 'idempotency-key': 'once' },
    });
    const value = file('value.yaml', 'by: ada');
    await millrace(['signal', 'j-1', 'approved', `@${value}`, '--json']);
    expect(server.received[1]?.body).toBe('{"by":"ada"}');
    await millrace(['signal', 'j-1', 'approved']);
    expect(server.received[2]?.body).toBe('null');
  });
});

describe('what does not work', () => {
  test.each([
    [['jobs', '--state', 'done'], 'Use queued, running'],
    [['jobs', '--limit', 'all'], "'all' is not a valid whole number for --limit"],
    [['events', '--after', '-'], "'-' is not a valid whole number for --after"],
    [['schedules', 'paus', 'x'], "Did you mean 'pause'?"],
    [['schedules', 'pause'], 'Give the id of the schedule'],
    [['schedules', 'put', 'x'], 'A file or a flow is required'],
    [
      ['schedules', 'create', 'x', 'j.yaml', '--cron', '* * * * *', '--at', '1'],
      '--cron and --at cannot be combined',
    ],
    [
      ['schedules', 'create', 'x', 'j.yaml', '--every', 'hour'],
      "'hour' is not a valid duration for --every",
    ],
    [
      ['schedules', 'create', 'x', 'j.yaml', '--every', '1h', '--zone', 'UTC'],
      '--zone applies only to --cron',
    ],
    [['schedules', 'create', 'x', 'j.yaml', '--overlap', 'queue'], 'Add --cron, --every or --at'],
    [['schedules', 'create', 'x', 'j.yaml', '--misfire', 'never'], 'skip, once, all'],
    [['signal', 'j-1', 'go', 'yes'], 'A JSON string needs its own quotes'],
    [['submit', 'no/such/file'], 'does not exist'],
    [['nodes', '--token-file', 'no/such/file'], 'no/such/file'],
    [['nodes', '--tls-ca', 'no/such/file'], '--tls-ca no/such/file does not exist'],
    [['nodes', '--server', 'localhost'], 'http://127.0.0.1:7070'],
  ])('%j is wrong use, reported in a sentence', async (args, sentence) => {
    const { code, err } = await millrace(args);
    expect(code).toBe(exit.wrongUse);
    expect(err).toContain(sentence);
    expect(err).not.toMatch(/ {4}at |\bE[A-Z]{4,}\b/);
    expect(server.received).toEqual([]);
  });

  test('an unreachable server is reported with the next step and exit code 3', async () => {
    await server.close();
    const { code, out, err } = await millrace(['nodes', '--json']);
    expect(code).toBe(exit.unreachable);
    expect(err).toBe(
      `millrace: No server is reachable at ${server.url}. The connection was refused. ` +
        'Check that `millrace up` is running, or set another server with --server or MILLRACE_SERVER.\n',
    );
    expect(JSON.parse(out)).toMatchObject({ error: { code: 'unreachable' } });
  });

  test.each([
    [401, 'unauthenticated', '--token-file', exit.wrongUse],
    [403, 'forbidden', 'the role admin', exit.wrongUse],
  ])('%i is reported with the next step', async (status, code, step, ending) => {
    server.script('POST /api/v1/nodes/w-1/drain', problem(status, { code, detail: 'No.' }));
    const refused = await millrace(['drain', 'w-1']);
    expect(refused.code).toBe(ending);
    expect(refused.err).toContain(step);
  });

  test('the token comes from the file or the environment', async () => {
    server.script('GET /api/v1/nodes', { json: { nodes: [], asOf } });
    const tokens = file('tokens', 'read a-token-for-readers\nadmin a-token-for-admins\n');
    const { out } = await millrace(['nodes', '--token-file', tokens]);
    expect(out).toContain('No nodes are registered');
    expect(server.received[0]?.headers.authorization).toBe('Bearer a-token-for-readers');
  });

  test('an interruption within a call ends with 130 and no complaint', async () => {
    const interruption = new AbortController();
    server.script('POST /api/v1/jobs/j-1/cancel', notLeader(null));
    const waiting = millrace(['cancel', 'j-1'], interruption.signal);
    await server.arrival(1);
    interruption.abort();
    expect(await waiting).toEqual({ code: exit.interrupted, out: '', err: '' });
  });
});
