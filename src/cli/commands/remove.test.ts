import { afterEach, beforeEach, expect, test } from 'vitest';
import { runAgainst } from '../../../test/rig/command-line.ts';
import { ScriptedServer } from '../../../test/rig/scripted-server.ts';
import { exit } from '../exit.ts';

let server: ScriptedServer;

beforeEach(async () => {
  server = await ScriptedServer.start();
});
afterEach(() => server.close());

test('remove says that the job is gone', async () => {
  server.script('DELETE /api/v1/jobs/j-1', { status: 204, text: '' });
  const { code, out } = await runAgainst(server, ['remove', 'j-1']);
  expect([code, out]).toEqual([exit.done, 'Job j-1 is removed.\n']);
});
