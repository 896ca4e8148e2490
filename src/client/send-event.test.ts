import { afterEach, beforeEach, expect, test } from 'vitest';
import { HastyClock } from '../../test/rig/hasty-clock.ts';
import { ScriptedServer, problem } from '../../test/rig/scripted-server.ts';
import { HttpClient } from './http-client.ts';

const MANY = 'POST /api/v1/triggers';
let server: ScriptedServer;
let client: HttpClient;

beforeEach(async () => {
  server = await ScriptedServer.start();
  client = new HttpClient({ server: server.url, clock: new HastyClock() });
});
afterEach(async () => {
  client.end();
  await server.close();
});

const none = { jobs: [], woken: [], cancelled: [] };
const sent = (at: number): { event: string; id: string }[] =>
  JSON.parse(server.received[at]?.body ?? '') as { event: string; id: string }[];

test('events that are refused for now are sent again, those that are taken are not', async () => {
  const loading = { error: { code: 'loading', detail: 'Not yet.' } };
  const woken = [{ job: 'j', task: 't' }];
  const wrong = { error: { code: 'bad_input', detail: 'No.' } };
  server.script(
    MANY,
    { status: 207, json: [{ ...none, woken }, loading, wrong] },
    { json: [{ ...none, cancelled: ['j-2'] }] },
  );
  const events = [{ event: 'a' }, { event: 'b', id: 'e2' }, { event: 'c' }];
  const [a, b, c] = await client.sendEvents(events);
  expect(a).toMatchObject({ event: 'a', woken, id: sent(0)[0]?.id });
  expect(b).toMatchObject({ event: 'b', id: 'e2', cancelled: ['j-2'] });
  expect(c).toMatchObject({ code: 'bad_input' });
  expect(sent(1)).toEqual([{ event: 'b', id: 'e2' }]);
});

test('what is known of some is not lost when the rest cannot be sent', async () => {
  const events = Array.from({ length: 1_001 }, (_, at) => ({ event: `e${at}` }));
  server.script(
    MANY,
    { json: events.slice(0, 1_000).map(() => none) },
    problem(403, { code: 'forbidden', detail: 'No.' }),
  );
  const answers = await client.sendEvents(events);
  expect(answers).toHaveLength(1_001);
  expect([answers[999], answers[1_000]]).toMatchObject([{ event: 'e999' }, { code: 'forbidden' }]);
});

test('a list that nobody takes is an error of the call', async () => {
  server.script(MANY, problem(403, { code: 'forbidden', detail: 'No.' }));
  await expect(client.sendEvents([{ event: 'a' }])).rejects.toMatchObject({ code: 'forbidden' });
  expect(await client.sendEvents([])).toEqual([]);
});

const circular: { self?: unknown } = {};
circular.self = circular;

test.each([
  [null, /An event is an object/],
  [{ event: '' }, /not a valid name/],
  [{ event: '..' }, /not a valid name/],
  [{ event: '\uD800' }, /not a valid name/],
  [{ event: 5 }, /'5' is not a valid name/],
  [{ event: 'a', dta: 1 }, /no field 'dta'/],
  [{ event: 'a', data: () => 1 }, /it is a function/],
  [{ event: 'a', data: circular }, /contains itself/],
  [{ event: 'a', data: { n: 1n } }, /JSON does not have/],
  [{ event: 'a', data: [Number.NaN] }, /the number NaN/],
])(
  'an event that cannot be sent, %o, has its own answer, and the others are sent',
  async (wrong, why) => {
    server.script(MANY, { json: [none] });
    const [first, second] = await client.sendEvents([wrong as { event: string }, { event: 'b' }]);
    expect(first).toMatchObject({
      code: 'bad_input',
      message: expect.stringMatching(why) as string,
    });
    expect(second).toMatchObject({ event: 'b' });
    expect(sent(0).map(({ event }) => event)).toEqual(['b']);
  },
);

test('one event that cannot be sent is refused', async () => {
  await expect(client.sendEvent('', 1)).rejects.toThrow('not a valid name');
  await expect(client.sendEvent('a', circular)).rejects.toThrow('not valid JSON');
  expect(server.received).toEqual([]);
});
