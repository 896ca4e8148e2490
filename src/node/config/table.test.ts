import { describe, expect, test } from 'vitest';
import { defaultSettings } from '../../scheduler/core/index.ts';
import {
  type AllSettings,
  entryOf,
  environmentName,
  flagName,
  loadConfig,
  type SettingName,
  settingNames,
} from './index.ts';

test('the defaults are valid, and those of the core are the core’s', () => {
  for (const name of settingNames) {
    const { kind, fallback } = entryOf(name);
    const shown = fallback === undefined ? '' : kind.show(fallback);
    if (shown === '') continue;
    expect([name, kind.read(fallback)]).toEqual([name, fallback]);
  }
  expect(loadConfig({ folder: import.meta.dirname }).core).toEqual(defaultSettings);
});

test.each<[SettingName, string, string | null]>([
  ['sessionTtlMs', 'MILLRACE_SESSION_TTL_MS', '--session-ttl-ms'],
  ['database', 'MILLRACE_DATABASE', '--database'],
  ['server', 'MILLRACE_SERVER', '--server'],
  ['servers', 'MILLRACE_SERVERS', '--server'],
  ['nodeId', 'MILLRACE_NODE_ID', '--node-id'],
  ['grpcPort', 'MILLRACE_GRPC_PORT', '--grpc-port'],
  ['memoryBytes', 'MILLRACE_MEMORY_BYTES', '--memory'],
  ['tlsCa', 'MILLRACE_TLS_CA', '--tls-ca'],
  ['token', 'MILLRACE_TOKEN', null],
])('%s is %s and %s', (name, variable, flag) => {
  expect([environmentName(name), flagName(name)]).toEqual([variable, flag]);
});

test('no two settings share a variable', () => {
  expect(new Set(settingNames.map(environmentName)).size).toBe(settingNames.length);
});

describe('values of each kind', () => {
  test.each<[keyof AllSettings, unknown, unknown]>([
    ['host', '0.0.0.0', '0.0.0.0'],
    ['host', '::1', '::1'],
    ['host', 'leader:7070', undefined],
    ['host', 'http://leader', undefined],
    ['port', 0, 0],
    ['port', '7.5', undefined],
    ['nodeId', 'w-1', 'w-1'],
    ['nodeId', '../w', undefined],
    ['role', 'observer', 'observer'],
    ['role', 'Observer', undefined],
    ['servers', 'a:1, b:2', ['a:1', 'b:2']],
    ['servers', ['a:1,b:2', '[::1]:3'], ['a:1', 'b:2', '[::1]:3']],
    ['servers', 'http://a:1,https://b', ['http://a:1', 'https://b']],
    ['servers', 'http://me:secret@a:1', undefined],
    ['servers', 'ftp://a:1', undefined],
    ['servers', 'a:70000', undefined],
    ['servers', 7, undefined],
    ['roots', ['/a,b', 'c'], ['/a,b', 'c']],
    ['allowPrivateHttp', 'true', true],
    ['allowCommand', ['git', '/usr/bin/make'], ['git', '/usr/bin/make']],
    ['allowCommand', 'git,make', ['git', 'make']],
    ['allowCommand', ['./run.sh'], undefined],
    ['allowCommand', ['bin/run'], undefined],
    ['allowEnv', 'MODE,APP_*', ['MODE', 'APP_*']],
    ['allowEnv', ['A=B'], undefined],
    ['allowEnv', ['*_KEY'], undefined],
    ['allowContainer', 'podman', 'podman'],
    ['allowContainer', '', undefined],
    ['capabilities', '{"gpu": "nvidia", "labels": ["a"]}', { gpu: 'nvidia', labels: ['a'] }],
    ['capabilities', ['cpu_cores=8', 'note=a=b'], { cpu_cores: 8, note: 'a=b' }],
    ['capabilities', { ssd: true }, { ssd: true }],
    ['insecure', 'true', true],
    ['insecure', 'no', false],
    ['insecure', 'perhaps', undefined],
    ['clockOffsetMs', '-10m', -600_000],
    ['clockOffsetMs', '2d', undefined],
    ['memoryBytes', '1GB', 1e9],
    ['memoryBytes', 0, undefined],
    ['drainMs', '0', 0],
    ['pollMs', 0, undefined],
    ['traceUrl', 'https://t.example/{trace}?a=1', 'https://t.example/{trace}?a=1'],
    ['traceUrl', 'https://t.example/', undefined],
    ['traceUrl', 'https://t.example/{trace}/{trace}', undefined],
    ['traceUrl', 'javascript:alert({trace})', undefined],
    ['server', 'http://10.0.0.1:7070', 'http://10.0.0.1:7070'],
    ['server', 'http://', undefined],
    ['database', 'postgresql://h/db', 'postgresql://h/db'],
    ['token', 'short', undefined],
    ['slotsPerNode', '0', undefined],
    ['documentBytesMax', '1MiB', 1_048_576],
  ])('%s reads %j as %j', (name, raw, value) => {
    expect(entryOf(name).kind.read(raw)).toEqual(value);
  });
});
