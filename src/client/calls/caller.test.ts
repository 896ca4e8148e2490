import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { HastyClock } from '../../../test/rig/hasty-clock.ts';
import { notLeader, problem, ScriptedServer } from '../../../test/rig/scripted-server.ts';
import { freePort } from '../../../test/rig/cluster/free-port.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import { HttpClient } from '../http-client.ts';
import type { ClientOptions } from '../options.ts';

const id = 'j-1' as JobId;
const accepted = { status: 201, json: { id: 'j-1', state: 'queued' } };
const job = { json: { id: 'j-1', state: 'queued', run: 1, tasks: [], asOf: { seq: 1, at: '' } } };
const busy = problem(503, { code: 'overloaded', detail: 'Too much.' }, { 'retry-after': '2' });

let clock: HastyClock;
let one: ScriptedServer;
let two: ScriptedServer;
const clients: HttpClient[] = [];

beforeEach(async () => {
  clock = new HastyClock();
  [one, two] = await Promise.all([ScriptedServer.start(), ScriptedServer.start()]);
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.end();
  await Promise.all([one.close(), two.close()]);
});

function client(server: string = one.url, options: Partial<ClientOptions> = {}): HttpClient {
  const made = new HttpClient({ server, clock, random: () => 0.5, ...options });
  clients.push(made);
  return made;
}

const ids = (server: ScriptedServer) =>
  server.received.map(({ headers }) => headers['millrace-job-id']);

describe('a leader that is elsewhere', () => {
  test('is followed at once, and remembered', async () => {
    one.script('POST /api/v1/jobs', notLeader(two.url));
    two.script('POST /api/v1/jobs', accepted).script('GET /api/v1/jobs/j-1', job);
    const caller = client();
    expect(await caller.submitDocument({ tasks: [] })).toEqual({ ...accepted.json, isNew: true });
    expect(await caller.job(id)).toEqual(job.json);
    expect([one.received.length, two.received.length]).toEqual([1, 2]);
    expect(clock.pauses).toEqual([]);
  });

  test('is forgotten when it cannot be reached, and the given server asked again', async () => {
    one.script('POST /api/v1/jobs', notLeader(two.url), accepted);
    two.script('POST /api/v1/jobs', accepted);
    const caller = client();
    await caller.submitDocument({});
    await two.close();
    expect(await caller.submitDocument({})).toMatchObject(accepted.json);
    expect(one.received).toHaveLength(2);
  });

  test('is waited for while nobody leads', async () => {
    one.script('POST /api/v1/jobs', notLeader(null), notLeader(null), accepted);
    expect(await client().submitDocument({})).toMatchObject(accepted.json);
    // The server's wish, which is longer than the back-off.
    expect(clock.pauses).toEqual([1_000, 1_000]);
    expect(new Set(ids(one)).size).toBe(1);
    // Whoever does not lead has done nothing.
  });

  test('and never comes up is reported with the named address', async () => {
    one.script('POST /api/v1/jobs', notLeader('http://127.0.0.1:1'));
    await expect(client().submitDocument({})).rejects.toMatchObject({
      code: 'not_leader',
      leader: { nodeId: 'n-2', epoch: 7 },
      what: 'The leader n-2 is not reachable at http://127.0.0.1:1.',
      why: 'The connection was refused.',
    });
    expect(clock.monotonicMs()).toBeGreaterThan(25_000);
    expect(clock.monotonicMs()).toBeLessThanOrEqual(30_000);
  });

  test('is the first of several servers, wherever it stands in the list', async () => {
    one.script('POST /api/v1/jobs', notLeader(null));
    two.script('POST /api/v1/jobs', accepted);
    expect(await client(`${one.url}, ${two.url}/`).submitDocument({})).toMatchObject(accepted.json);
    expect(clock.pauses).toEqual([]);
  });
});

describe('a server that is not there', () => {
  test('is reported soon when none has ever answered', async () => {
    const port = await freePort();
    const server = `http://127.0.0.1:${port}`;
    await expect(client(server).listNodes()).rejects.toMatchObject({
      code: 'unreachable',
      what: `No server is reachable at ${server}.`,
      why: 'The connection was refused.',
    });
    expect(clock.pauses.length).toBeGreaterThan(2);
    expect(clock.monotonicMs()).toBeLessThanOrEqual(2_000);
  });

  test('is passed over for the next, and not asked first the next time', async () => {
    const port = await freePort();
    two.script('GET /api/v1/nodes', { json: { nodes: [], asOf: { seq: 1, at: '' } } });
    const caller = client(`http://127.0.0.1:${port},${two.url}`);
    await caller.listNodes();
    await caller.listNodes();
    expect(clock.pauses).toEqual([]);
    expect(two.received).toHaveLength(2);
  });

  test.each(['127.0.0.1', 'ftp://127.0.0.1', ' , ', 'http://me:secret@127.0.0.1'])(
    '"%s" is refused before anything is sent',
    (server) => {
      expect(() => client(server)).toThrow(/cannot be used/);
      expect(() => client(server)).not.toThrow(/secret/);
    },
  );
});

describe('what may be repeated', () => {
  test('is repeated when the connection is lost before or during the answer', async () => {
    one.script(
      'POST /api/v1/jobs',
      'hang up',
      (response) => {
        response.writeHead(201, { 'content-length': '1000' });
        response.write('{"id":', () => response.destroy());
      },
      accepted,
    );
    expect(await client().submitDocument({})).toMatchObject(accepted.json);
    expect(new Set(ids(one)).size).toBe(1);
    expect(ids(one)[0]).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('is repeated when the server sends nothing at all', async () => {
    one.script('GET /api/v1/jobs/j-1', 'silence', job);
    const asked = client().job(id);
    await one.arrival(1);
    clock.fireLong();
    expect(await asked).toEqual(job.json);
  });

  test.each(['overloaded', 'loading', 'store_unavailable', 'outcome_unknown', 'deposed'])(
    'is, when the answer is %s',
    async (code) => {
      one.script('GET /api/v1/jobs/j-1', problem(503, { code }), job);
      expect(await client().job(id)).toEqual(job.json);
    },
  );

  test('is not repeated when the answer would be the same', async () => {
    const detail = 'The list is empty.';
    const fields = { code: 'bad_input', detail, todo: 'Fill it.', path: '/tasks' };
    one.script('POST /api/v1/jobs', problem(400, fields));
    await expect(client().submitDocument({ tasks: [] })).rejects.toMatchObject({
      code: 'bad_input',
      path: '/tasks',
      message: '/tasks: The list is empty. Fill it.',
    });
    expect(one.received).toHaveLength(1);
  });
});

describe('what may not be repeated', () => {
  test('is in doubt when the connection is lost', async () => {
    one.script('POST /api/v1/schedules/s/trigger', 'hang up');
    await expect(client().changeSchedule('s' as never, 'trigger')).rejects.toMatchObject({
      code: 'outcome_unknown',
    });
    expect(one.received).toHaveLength(1);
  });

  test('is repeated when it cannot have been done', async () => {
    const done = { json: { id: 's' } };
    one.script('POST /api/v1/schedules/s/trigger', busy, notLeader(two.url));
    two.script('POST /api/v1/schedules/s/trigger', done);
    expect(await client().changeSchedule('s' as never, 'trigger')).toEqual(done.json);
    expect(clock.pauses).toEqual([2_000]);
    const port = await freePort();
    const caller = client(`http://127.0.0.1:${port},${two.url}`);
    expect(await caller.changeSchedule('s' as never, 'trigger')).toEqual(done.json);
  });
});

describe('a strange answer', () => {
  test.each([
    [{ text: '<html>Welcome</html>' }, 'incompatible'],
    [{ json: { hello: 'world' } }, 'incompatible'],
    [{ status: 404, text: 'nothing here' }, 'not_found'],
    [{ status: 301, headers: { location: '/' }, text: '' }, 'incompatible'],
    [problem(418, { code: 'teapot' }), 'bad_input'],
    [problem(500, { code: 'teapot' }), 'invariant'],
    [problem(404, { code: 'not_found', detail: 'There is no job j-1.' }), 'not_found'],
  ] as const)('%j is the error %s', async (reaction, code) => {
    one.script('GET /api/v1/jobs/j-1', reaction);
    await expect(client().job(id)).rejects.toMatchObject({ code });
    expect(one.received).toHaveLength(1);
  });

  test('of a proxy without its server is waited out', async () => {
    one.script('GET /api/v1/jobs/j-1', { status: 502, text: '<html>Bad gateway</html>' }, job);
    expect(await client().job(id)).toEqual(job.json);
  });
});

describe('a caller that gives up', () => {
  test('gets its own reason, before the call, within it and in a pause', async () => {
    const reason = new Error('enough');
    await expect(client().job(id, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(one.received).toHaveLength(0);

    one.script('GET /api/v1/jobs/j-1', 'silence');
    const within = new AbortController();
    const silent = client().job(id, { signal: within.signal });
    await one.arrival(1);
    within.abort(reason);
    await expect(silent).rejects.toBe(reason);

    one.script('GET /api/v1/jobs/j-1', busy);
    const pausing = new AbortController();
    const slow = new HastyClock(0);
    const waiting = client(one.url, { clock: slow }).job(id, { signal: pausing.signal });
    await one.arrival(2);
    pausing.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });
});

test('the token goes with every call', async () => {
  one.script('GET /api/v1/jobs/j-1', job);
  await client(one.url, { token: 'a-long-secret-token' }).job(id);
  expect(one.received[0]?.headers.authorization).toBe('Bearer a-long-secret-token');
});

test('a server may stand behind a path of its own', async () => {
  one.script('GET /mill/api/v1/jobs/a%2Fb', job);
  await client(`${one.url}/mill/`).job('a/b');
  expect(one.received[0]?.path).toBe('/mill/api/v1/jobs/a%2Fb');
});

describe('an outage', () => {
  const away = {
    code: 'store_unavailable',
    detail: 'PostgreSQL (database mill at db:5432) does not answer.',
  };
  const outage = (minutes: number) => {
    const startedMs = clock.monotonicMs();
    return (response: ServerResponse): void => {
      const isOver = clock.monotonicMs() - startedMs > minutes * 60_000;
      const { status, body } = isOver
        ? { status: 200, body: { ...job.json, state: 'succeeded', result: 7 } }
        : { status: 503, body: away };
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
  };

  test('is outlasted by a caller that waits for a result, and reported once', async () => {
    const waits: string[] = [];
    one.script('GET /api/v1/jobs/j-1', outage(30));
    const caller = client(one.url, { onWait: (why) => waits.push(why.message) });
    expect(await caller.ended(id, { retriesForever: true })).toMatchObject({ state: 'succeeded' });
    expect(waits).toEqual([expect.stringContaining('database mill at db:5432')]);
  });

  test('ends other calls after their time, with what was waited for', async () => {
    one.script('GET /api/v1/jobs/j-1', outage(30));
    await expect(client().job(id)).rejects.toMatchObject({
      code: 'store_unavailable',
      what: expect.stringContaining('database mill at db:5432') as string,
    });
  });

  test('does not keep a caller who has given up', async () => {
    one.script('GET /api/v1/jobs/j-1', outage(1_000_000));
    const given = new AbortController();
    const asked = client(one.url, { onWait: () => given.abort(new Error('enough')) });
    const waiting = asked.ended(id, { retriesForever: true, signal: given.signal });
    await expect(waiting).rejects.toThrow('enough');
  });
});
