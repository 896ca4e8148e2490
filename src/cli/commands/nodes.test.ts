import { afterEach, beforeEach, expect, test } from 'vitest';
import { asOf, runAgainst } from '../../../test/rig/command-line.ts';
import { ScriptedServer } from '../../../test/rig/scripted-server.ts';

let server: ScriptedServer;
beforeEach(async () => {
  server = await ScriptedServer.start();
});
afterEach(() => server.close());

test('nodes shows who leads, also a server that executes nothing', async () => {
  const leader = { nodeId: 'w-1', url: 'http://w-1:7070', grpc: 'w-1:7071', epoch: 4 };
  const node = {
    ...{ id: 'w-1', status: 'healthy', draining: false, quarantinedUntil: null, running: 0 },
    ...{ slots: 8, seenAt: asOf.at, version: '0.1.0', executors: [], capabilities: {} },
  };
  server.script('GET /api/v1/nodes', { json: { nodes: [node], asOf } });
  server.script('GET /api/v1/leader', { json: { ...leader, asOf } });
  expect((await runAgainst(server, ['nodes'])).out).toContain('healthy (leader)');
  server.script('GET /api/v1/leader', { json: { ...leader, nodeId: 'n-1', asOf } });
  expect((await runAgainst(server, ['nodes'])).out).toContain(
    'The leader is n-1 at http://w-1:7070;',
  );
  const { out } = await runAgainst(server, ['nodes', '--json']);
  expect(JSON.parse(out)).toMatchObject({ leader: { nodeId: 'n-1', epoch: 4 } });
});
