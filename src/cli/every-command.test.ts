/** What holds for all commands: the list of them is the program's own. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runAgainst } from '../../test/rig/command-line.ts';
import { ScriptedServer } from '../../test/rig/scripted-server.ts';
import { catalogue } from './catalogue.ts';
import { exit } from './exit.ts';

let server: ScriptedServer;
beforeEach(async () => {
  server = await ScriptedServer.start();
});
afterEach(() => server.close());

/** By command: lines with an id that no server knows; none for commands that take no id. */
const UNKNOWN: Readonly<Record<string, readonly string[]>> = {
  job: ['job nope', 'job nope --task a', 'job nope --follow'],
  cancel: ['cancel nope'],
  priority: ['priority nope 1'],
  reschedule: ['reschedule nope --now'],
  remove: ['remove nope'],
  signal: ['signal nope go'],
  rerun: ['rerun nope'],
  fork: ['fork nope --from a'],
  redrive: ['redrive nope a', 'redrive nope/a'],
  explain: ['explain nope/a'],
  events: ['events --job nope', 'events --job nope --follow'],
  queries: ['queries nope'],
  logs: ['logs nope', 'logs nope/a', 'logs nope --follow'],
  start: ['start nope'],
  drain: ['drain nope'],
  release: ['release nope'],
  schedules: [
    ...['pause', 'resume', 'trigger', 'delete'].map((each) => `schedules ${each} nope`),
    'schedules backfill nope --from 2026-11-01T00:00:00Z',
  ],
  ...Object.fromEntries(
    [
      ...[
        'demo',
        'run',
        'sql',
        'submit',
        'jobs',
        'send',
        'flows',
        'queues',
        'nodes',
        'up',
        'dev',
        'serve',
        'open',
        'worker',
      ],
      ...['migrate', 'export', 'import', 'config', 'schema', 'completion'],
    ].map((name) => [name, []]),
  ),
};

const names = catalogue.map(({ name }) => name);

test('the lines above cover every command', () => {
  expect(Object.keys(UNKNOWN)).toEqual(expect.arrayContaining(names));
});

test.each(names.flatMap((name) => UNKNOWN[name] ?? []))(
  '%s: an unknown id is bad input',
  async (line) => {
    const { code, out, err } = await runAgainst(server, [...line.split(' '), '--json']);
    expect({ code, err }).toEqual({
      code: exit.wrongUse,
      err: 'millrace: There is no such page.\n',
    });
    expect(JSON.parse(out)).toMatchObject({ error: { code: 'not_found' } });
  },
);
