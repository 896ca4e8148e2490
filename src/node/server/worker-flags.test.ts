import { expect, test } from 'vitest';
import { loadConfig } from '../config/index.ts';
import { workerFlags } from './worker-flags.ts';

function flagsOf(environment: NodeJS.ProcessEnv, grpc = '127.0.0.1:7071'): readonly string[] {
  const { node } = loadConfig({ folder: import.meta.dirname, environment });
  return workerFlags(node, 'w-1', grpc);
}

test('the worker gets exactly what its node allows', () => {
  const allowed = flagsOf({
    MILLRACE_ALLOW_PRIVATE_HTTP: 'true',
    MILLRACE_ALLOW_COMMAND: 'git,/usr/bin/make',
    MILLRACE_ALLOW_ENV: 'MODE',
    MILLRACE_ALLOW_CONTAINER: 'podman',
    MILLRACE_ROOTS: '/data',
  });
  const wanted = ['--allow-private-http', '--allow-command=git', '--allow-command=/usr/bin/make'];
  expect(allowed).toEqual(
    expect.arrayContaining([
      ...wanted,
      '--allow-env=MODE',
      '--allow-container=podman',
      '--root=/data',
    ]),
  );
  expect(flagsOf({}).filter((flag) => flag.startsWith('--allow'))).toEqual([]);
});

test('the worker of a node on a wildcard address advertises the address of the node', () => {
  const open = { MILLRACE_HOST: '0.0.0.0', MILLRACE_INSECURE: 'true' };
  const advertised = (environment: NodeJS.ProcessEnv) =>
    flagsOf(environment, 'node-1:7071').filter((flag) => flag.startsWith('--advertise'));
  expect(advertised(open)).toEqual(['--advertise=node-1']);
  expect(advertised({ ...open, MILLRACE_ADVERTISE: 'mill' })).toEqual(['--advertise=mill']);
  expect(advertised({})).toEqual([]);
});
