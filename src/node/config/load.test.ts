import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isMillraceError } from '../../scheduler/core/index.ts';
import { type Config, loadConfig, type SettingName } from './index.ts';
import type { ConfigSources } from './load.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-config-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const load = (sources: ConfigSources = {}): Config => loadConfig({ folder, ...sources });

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

function refusal(sources: ConfigSources): string {
  try {
    load(sources);
  } catch (error) {
    if (isMillraceError(error, 'bad_setting')) return error.message;
    throw error;
  }
  throw new Error('nothing was refused');
}

function shown(config: Config, name: SettingName) {
  return config.effective().find((setting) => setting.name === name);
}

describe('flags win over the environment, that over a file, that over defaults', () => {
  const flags = { heartbeatMs: '4s' };
  const environment = { MILLRACE_HEARTBEAT_MS: '5s' };

  test('all four at once, each taken away in turn', () => {
    const configFile = write('node.yaml', 'heartbeatMs: 6s\n');
    const of = (sources: ConfigSources) => {
      const config = load(sources);
      const { source, from } = shown(config, 'heartbeatMs') ?? {};
      return [config.core.heartbeatMs, source, from];
    };
    expect(of({ flags, environment, configFile })).toEqual([4_000, 'flag', '--heartbeat-ms']);
    const variable = [5_000, 'environment', 'MILLRACE_HEARTBEAT_MS'];
    expect(of({ environment, configFile })).toEqual(variable);
    expect(of({ configFile })).toEqual([6_000, 'file', configFile]);
    expect(of({})).toEqual([3_000, 'default', '']);
  });

  test('what was read once is not read again: it may have been a pipe, or is another file by now', () => {
    const configFile = write('node.yaml', 'port: 1234\ndata: ./jobs\n');
    const first = load({ configFile });
    write('node.yaml', 'port: 4321\n');
    const again = loadConfig(structuredClone(first.sources));
    expect([again.node, again.file]).toEqual([first.node, configFile]);
    const without = load();
    write('millrace.config.yaml', 'port: 4321\n');
    expect(loadConfig(without.sources).node).toEqual(without.node);
  });

  test('an empty variable and a null in a file count as unset', () => {
    const configFile = write('node.yaml', 'nodeId:\nslots: 3\n');
    const environment = { MILLRACE_NODE_ID: '', MILLRACE_SLOTS: '', MILLRACE_CONFIG: '' };
    const { node } = load({ configFile, environment });
    expect([node.nodeId, node.slots]).toEqual([undefined, 3]);
  });
});

describe('the file', () => {
  test('is the one that is named, by flag before variable', () => {
    const one = write('one.json', '{"port": 1}');
    const two = write('two.yml', 'port: 2');
    const environment = { MILLRACE_CONFIG: 'two.yml' };
    expect(load({ environment })).toMatchObject({ file: two, node: { port: 2 } });
    expect(load({ environment, configFile: one })).toMatchObject({ file: one, node: { port: 1 } });
  });

  test('is found by its default name when none is given, if there is only one', () => {
    expect(load().file).toBeUndefined();
    const json = write('millrace.config.json', '{"port": 8080}');
    expect(load()).toMatchObject({ file: json, node: { port: 8080 } });
    write('millrace.config.yaml', 'port: 9090');
    expect(refusal({})).toContain('millrace.config.json and millrace.config.yaml');
  });

  test('may be empty or hold comments only', () => {
    write('millrace.config.yaml', '# port: 7070\n');
    expect(load().node.port).toBe(7070);
  });

  test('has paths relative to itself', () => {
    write('millrace.config.json', '{"data": "d", "roots": ["r", "/x,y"], "tokenFile": "../t"}');
    expect(load().node).toMatchObject({
      data: join(folder, 'd'),
      roots: [join(folder, 'r'), '/x,y'],
      tokenFile: join(folder, '..', 't'),
    });
    expect(load({ flags: { data: 'd' } }).node.data).toBe('d');
  });

  test.each([
    ['a.json', '{"token": "s3cret-s3cret-s3cret" oops}', 'is not valid JSON: line 1'],
    ['a.yaml', 'port: 1\ntoken: "s3cret-s3cret-s3cret', 'is not valid YAML: line 2'],
    ['a.yaml', 'port: 1\nport: 2\n', 'is not valid YAML: line 2'],
    ['a.yaml', 'token: *s3cret\n', 'is not valid YAML'],
    ['a.yaml', '- port\n', 'must contain names and values'],
    ['a.json', '7', 'must contain names and values'],
  ])('%s with %j is refused without quoting it', (name, text, why) => {
    const configFile = write(name, text);
    const message = refusal({ configFile });
    expect(message).toContain(why);
    expect(message).toContain(configFile);
    expect(message).not.toContain('s3cret');
  });

  test('that is named must be there', () => {
    expect(refusal({ configFile: 'none.json' })).toMatch(/none\.json \(--config\) does not exist/);
    expect(refusal({ environment: { MILLRACE_CONFIG: 'none.json' } })).toMatch(
      /none\.json \(MILLRACE_CONFIG\) does not exist/,
    );
    expect(refusal({ configFile: folder })).toContain('cannot be read (EISDIR)');
  });
});

describe('a wrong value is reported with its name and source', () => {
  test.each<[string, ConfigSources, string]>([
    [
      'variable',
      { environment: { MILLRACE_SESSION_TTL_MS: 'soon' } },
      "MILLRACE_SESSION_TTL_MS (environment): it must be a duration such as 1500, 1.5s or 10m above 0, not 'soon'.",
    ],
    [
      'flag',
      { flags: { port: '70700' } },
      "--port (flag): it must be a whole number from 0 to 65535, not '70700'.",
    ],
    [
      'flag with a name of its own',
      { flags: { roots: [''] } },
      '--root (flag): it must be a list, each of it a path, not',
    ],
    [
      'capability',
      { flags: { capabilities: ['gpu'] } },
      '--capability (flag): it must be capabilities such as',
    ],
    [
      'capability that the core refuses',
      { flags: { capabilities: ['gpu={}'] } },
      '--capability (flag): /gpu',
    ],
    ['server', { environment: { MILLRACE_SERVER: 'leader' } }, 'MILLRACE_SERVERS'],
  ])('%s', (_case, sources, message) => {
    expect(refusal(sources)).toContain(message);
  });

  test('in a file', () => {
    const configFile = write('node.json', '{"slots": -1}');
    expect(refusal({ configFile })).toBe(
      `slots (${configFile}): it must be a whole number from 0 to 10000, not '-1'.`,
    );
  });

  test('all mistakes at once', () => {
    const environment = { MILLRACE_PORT: 'x', MILLRACE_ROLE: 'boss', MILLRACE_SLOT: '1' };
    const message = refusal({ environment }).split('\n');
    expect(message.map((line) => line.split(' ')[0])).toEqual([
      'MILLRACE_SLOT',
      'MILLRACE_PORT',
      'MILLRACE_ROLE',
    ]);
  });

  test('a secret is not repeated', () => {
    const environment = {
      MILLRACE_DATABASE: 'mysql://app:s3cret@db/main',
      MILLRACE_TOKEN: 's3cret',
      MILLRACE_SERVER: 'ftp://app:s3cret@db',
    };
    const message = refusal({ environment });
    expect(message.split('\n')).toHaveLength(3);
    expect(message).not.toContain('s3cret');
  });
});

describe('an unknown name is refused with the one that was meant', () => {
  test('in the environment', () => {
    expect(refusal({ environment: { MILLRACE_SESION_TTL_MS: '1s' } })).toBe(
      "MILLRACE_SESION_TTL_MS (environment): unknown setting. Did you mean 'MILLRACE_SESSION_TTL_MS'?",
    );
  });

  test('in a file', () => {
    const configFile = write('node.yaml', 'grpc_port: 1\n__proto__: 2\n');
    const message = refusal({ configFile });
    expect(message).toContain("'grpc_port'");
    expect(message).toContain("Did you mean 'grpcPort'?");
    expect(message).toContain("'__proto__'");
  });

  test('but other variables are ignored, also those that Kubernetes sets for a service', () => {
    const environment = {
      PATH: '/bin',
      MILLRACE_SERVICE_HOST: '10.0.0.1',
      MILLRACE_SERVICE_PORT: '7070',
      MILLRACE_SERVICE_PORT_HTTP: '7070',
      MILLRACE_PORT: 'tcp://10.0.0.1:7070',
      MILLRACE_PORT_7070_TCP: 'tcp://10.0.0.1:7070',
      MILLRACE_PORT_7070_TCP_ADDR: '10.0.0.1',
    };
    expect(load({ environment }).node.port).toBe(7070);
    expect(load({ environment: { MILLRACE_PORT: '9' } }).node.port).toBe(9);
  });
});

describe('relations', () => {
  test.each<[string, ConfigSources, RegExp]>([
    [
      'of the core',
      { environment: { MILLRACE_LEADER_RENEW_MS: '4s' }, flags: { leaderTtlMs: '11s' } },
      /leaderRenewMs is not valid: 4000 is more than a third of leaderTtlMs 11000\..*leaderTtlMs: --leader-ttl-ms \(flag\); leaderRenewMs: MILLRACE_LEADER_RENEW_MS \(environment\)/,
    ],
    [
      'between a request and a document',
      { flags: { requestBytesMax: '16MiB' } },
      /requestBytesMax is not valid: a document .*documentBytesMax: default/,
    ],
    [
      'between a message and a document',
      { environment: { MILLRACE_DOCUMENT_BYTES_MAX: '32MiB' }, flags: { requestBytesMax: '1GB' } },
      /grpcMessageBytesMax is not valid/,
    ],
    [
      'between certificate and key',
      { flags: { tlsKey: 'k.pem' } },
      /tlsCert and tlsKey must be set/,
    ],
  ])('%s', (_case, sources, message) => {
    expect(refusal(sources)).toMatch(message);
  });
});

test('slots follow slotsPerNode until the node says otherwise', () => {
  const environment = { MILLRACE_SLOTS_PER_NODE: '5' };
  expect(load().node.slots).toBe(8);
  expect(load({ environment }).node.slots).toBe(5);
  expect(shown(load({ environment }), 'slots')?.from).toBe('MILLRACE_SLOTS_PER_NODE');
  expect(load({ environment, flags: { slots: '0' } }).node.slots).toBe(0);
});

test('the effective configuration is shown for people and for machines, without secrets', () => {
  const environment = {
    MILLRACE_DATABASE: 'postgres://app:s3cret@db:5432/main?sslpassword=s3cret',
    MILLRACE_TOKEN: 's3cret-s3cret-s3cret',
    MILLRACE_SERVER: 'https://app:s3cret@leader',
    MILLRACE_CAPABILITIES: 'gpu=nvidia,cpu_cores=8',
  };
  const config = load({ environment });
  const text = JSON.stringify(config.effective());
  expect(text).not.toContain('s3cret');
  expect(shown(config, 'database')?.value).toBe('postgres://app:***@db:5432/main?sslpassword=***');
  expect(shown(config, 'sessionTtlMs')).toMatchObject({ value: 20_000, text: '20s' });
  expect(shown(config, 'capabilities')).toMatchObject({
    value: { gpu: 'nvidia', cpu_cores: 8 },
    text: 'gpu=nvidia, cpu_cores=8',
  });
  expect(shown(config, 'advertise')).toMatchObject({ value: null, text: '', source: 'default' });
  // The program itself gets what was given.
  expect(config.node.database).toBe(environment.MILLRACE_DATABASE);
  expect(config.node.token).toBe(environment.MILLRACE_TOKEN);
});
