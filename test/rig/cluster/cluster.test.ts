import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { Cluster } from './cluster.ts';
import type { ClusterOptions } from './cluster.ts';
import { freePort } from './free-port.ts';

function planned(options: Partial<ClusterOptions> = {}): Cluster {
  const cluster = new Cluster({ database: 'postgres://db/x', workers: 1, ...options });
  onTestFinished(() => rmSync(cluster.folder, { recursive: true, force: true }));
  return cluster;
}

/** `--name value` of a command line. */
function flag(args: readonly string[], name: string): string | undefined {
  const at = args.indexOf(`--${name}`);
  return at === -1 ? undefined : args[at + 1];
}

test('nodes get names, ports and short times; those before workers execute nothing', async () => {
  const cluster = planned({ settings: { maxAttempts: 9 } });
  const first = await cluster.planNode();
  const second = await cluster.planNode({ settings: { clockOffsetMs: -600_000 }, role: 'leader' });
  expect([first.id, second.id]).toEqual(['n-1', 'n-2']);
  expect(flag(first.plan.args, 'database')).toBe('postgres://db/x');
  expect(flag(first.plan.args, 'slots')).toBe('0');
  expect(flag(second.plan.args, 'role')).toBe('leader');
  expect(flag(first.plan.args, 'port')).not.toBe(flag(second.plan.args, 'port'));
  expect(first.plan.environment).toMatchObject({
    MILLRACE_LEADER_TTL_MS: '1500',
    MILLRACE_LEADER_RENEW_MS: '400',
    MILLRACE_SESSION_TTL_MS: '4000',
    MILLRACE_HEARTBEAT_MS: '400',
    MILLRACE_NODE_DEAD_MS: '5000',
    MILLRACE_MAX_ATTEMPTS: '9',
  });
  expect(second.plan.environment['MILLRACE_CLOCK_OFFSET_MS']).toBe('-600000');
  expect(cluster.urls).toEqual([first.plan.url, second.plan.url]);
});

test('a worker knows all nodes that serve, and an observer may do without a database', async () => {
  const cluster = planned({ slots: 3 });
  const nodes = [await cluster.planNode(), await cluster.planNode()];
  const worker = await cluster.planWorker({ args: ['--expect', 'note'] });
  const servers = nodes.map(({ plan }) => plan.grpc).join(',');
  expect(flag(worker.plan.args, 'server')).toBe(servers);
  expect(flag(worker.plan.args, 'slots')).toBe('3');
  expect(flag(worker.plan.args, 'expect')).toBe('note');
  expect(worker.plan.args).not.toContain('--database');
  expect(flag(worker.plan.args, 'module')).toMatch(/fault-handlers\.js$/);
  const observer = await cluster.planNode({ role: 'observer', database: null });
  expect(flag(observer.plan.args, 'server')).toBe(servers);
  expect(observer.plan.args).not.toContain('--database');
});

test('a proxied node is reached at another host on its own ports', async () => {
  const node = await planned().planNode({ isProxied: true });
  const { url, grpc, ways, args } = node.plan;
  expect(flag(args, 'advertise')).toBe('127.0.0.2');
  expect(url).toBe(`http://127.0.0.2:${flag(args, 'port')}`);
  expect(grpc).toBe(`127.0.0.2:${flag(args, 'grpc-port')}`);
  expect(ways?.grpc.address).toBe(grpc);
  // Nobody is behind it yet: the connection is taken and then reset.
  await expect(once(get(url ?? ''), 'response')).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(ways?.http?.accepted).toBe(1);
});

test('ports are free and given once', async () => {
  const ports = await Promise.all(Array.from({ length: 20 }, () => freePort()));
  expect(new Set(ports).size).toBe(20);
});

test('a folder for the test is there', () => {
  const cluster = planned();
  expect(existsSync(cluster.folder)).toBe(true);
  expect(cluster.file('go').startsWith(cluster.folder)).toBe(true);
});
