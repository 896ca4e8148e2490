import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterEach, expect, test, vi } from 'vitest';
import type { EffectiveSetting } from '../node/config/index.ts';
import { exit } from './exit.ts';
import { run } from './program.ts';
import { configFor, declareSettings } from './settings.ts';

afterEach(() => vi.unstubAllEnvs());

async function millrace(...argv: readonly string[]) {
  let out = '';
  let err = '';
  const { signal } = new AbortController();
  const world = {
    out: (text: string) => (out += text),
    err: (text: string) => (err += text),
    signal,
  };
  return { code: await run(argv, world), out, err };
}

function parsed(argv: readonly string[], environment: NodeJS.ProcessEnv = {}) {
  const command = new Command('node').exitOverride().configureOutput({ writeErr: () => {} });
  declareSettings(command, ['host', 'port', 'servers', 'insecure', 'modules']);
  command.parse(argv, { from: 'user' });
  return { command, config: configFor(command, environment, import.meta.dirname) };
}

test('flags become settings: switches, lists, shared names and those that no help shows', () => {
  const { config } = parsed([
    ...['--port', '0', '--insecure', '--module', 'a.ts', '--module', 'b,c.ts'],
    ...['--server', 'a:1,b:2', '--server', 'c:3', '--capability', 'gpu=nvidia'],
    ...['--session-ttl-ms', '30s', '--memory', '1GiB'],
  ]);
  expect(config.node).toMatchObject({
    port: 0,
    insecure: true,
    modules: ['a.ts', 'b,c.ts'],
    servers: ['a:1', 'b:2', 'c:3'],
    server: 'http://127.0.0.1:7070',
    capabilities: { gpu: 'nvidia' },
    memoryBytes: 2 ** 30,
  });
  expect(config.core.sessionTtlMs).toBe(30_000);
});

test('what is not on the command line comes from elsewhere', () => {
  const { config } = parsed([], { MILLRACE_PORT: '9', MILLRACE_INSECURE: 'true' });
  expect(config.node).toMatchObject({ port: 9, insecure: true, host: '127.0.0.1' });
});

test('the help shows the chosen settings with their defaults, and no flag takes a token', () => {
  const help = parsed([]).command.helpInformation();
  expect(help).toMatch(/--port <number>\s+the HTTP port; 0 chooses a free port \(default 7070\)/);
  expect(help).toMatch(/--insecure {2}/);
  expect(help).not.toContain('--session-ttl-ms');
  expect(() => parsed(['--token', 'x'])).toThrow('unknown option');
});

test('millrace config prints each setting with its value and its source', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-config-'));
  const file = join(folder, 'node.yaml');
  writeFileSync(file, 'slots: 3\n');
  vi.stubEnv('MILLRACE_DATABASE', 'postgres://app:s3cret@db/main');
  try {
    const line = ['config', '--config', file, '--heartbeat-ms', '2s'];
    const { code, out } = await millrace(...line);
    expect(code).toBe(exit.done);
    expect(out).toMatch(new RegExp(`^slots +3 {2}\\(file: ${file}\\)$`, 'm'));
    expect(out).toMatch(
      /^database +postgres:\/\/app:\*\*\*@db\/main {2}\(environment: MILLRACE_DATABASE\)$/m,
    );
    expect(out).toMatch(/^heartbeatMs +2s {2}\(flag: --heartbeat-ms\)$/m);
    expect(out).toMatch(/^sessionTtlMs +20s {2}\(default\)$/m);
    expect(out).not.toContain('s3cret');

    const machine = await millrace(...line, '--json');
    const answer = JSON.parse(machine.out) as {
      readonly file: string;
      readonly settings: readonly (EffectiveSetting & { readonly variable: string })[];
    };
    expect(answer.file).toBe(file);
    expect(answer.settings.find(({ name }) => name === 'heartbeatMs')).toEqual({
      name: 'heartbeatMs',
      variable: 'MILLRACE_HEARTBEAT_MS',
      value: 2_000,
      source: 'flag',
      from: '--heartbeat-ms',
      help: 'how often a node renews its session',
    });
    expect(machine.out + machine.err).not.toContain('s3cret');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a wrong setting is wrong use, reported with the name of its source', async () => {
  vi.stubEnv('MILLRACE_SESSION_TTL_MS', '5s');
  const { code, err } = await millrace('config');
  expect(code).toBe(exit.wrongUse);
  expect(err).toContain('sessionTtlMs: MILLRACE_SESSION_TTL_MS (environment)');
});
