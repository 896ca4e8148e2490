import { expect, test } from 'vitest';
import { loadConfig } from '../config/index.ts';
import { workerFlags } from './worker-flags.ts';

function flagsOf(environment: NodeJS.ProcessEnv): readonly string[] {
  const { node } = loadConfig({ folder: import.meta.dirname, environment });
  return workerFlags(node, 'w-1', '127.0.0.1:7071');
}

test('what a node allows its worker may do, and nothing else', () => {
  const allowed = flagsOf({
    MILLRACE_ALLOW_PRIVATE_HTTP: 'true',
    MILLRACE_ALLOW_COMMAND: 'git,/usr/bin/make',
    MILLRACE_ALLOW_CONTAINER: 'podman',
    MILLRACE_ROOTS: '/data',
  });
  const wanted = ['--allow-private-http', '--allow-command=git', '--allow-command=/usr/bin/make'];
  expect(allowed).toEqual(
    expect.arrayContaining([...wanted, '--allow-container=podman', '--root=/data']),
  );
  expect(flagsOf({}).filter((flag) => flag.startsWith('--allow'))).toEqual([]);
});
