/** `millrace dev`: workers that follow the code, and a whole cluster on one machine. */
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { within } from '../rig/cluster/deadline.ts';
import type { SseEvent } from '../rig/cluster/sse.ts';
import { LIMIT_MS, startDev } from './dev-setup.ts';

/** Each worker that follows another one in its place is numbered. */
const isSuccessor = ({ event, data }: SseEvent): boolean =>
  event === 'node.registered' && (JSON.parse(data) as { node: string }).node.endsWith('.2');

test('dev has reloaded only when the old worker takes nothing more', async () => {
  const { dev, client, answer, save, printed } = await startDev('single');
  const old = (await answer('who')) as number;
  process.kill(old, 'SIGSTOP');
  save(`export const word: string = 'two';`);
  await printed(/part\.ts changed: starting a new worker/);
  await client.waitForEvent(isSuccessor);
  // The new one has long said that it is ready when these are answered.
  for (let round = 0; round < 20; round += 1) await client.nodes();
  expect(dev.output.text()).not.toContain('millrace reloaded');
  process.kill(old, 'SIGCONT');
  await printed(/^millrace reloaded in/);
  expect(await answer()).toBe('two');
  expect(await dev.stop()).toEqual({ code: 0, signal: null });
});

test('dev --cluster is a database, two nodes and two workers that follow the code, and nothing of it stays', async () => {
  const { dev, temporary, answer, save, printed } = await startDev('cluster');
  expect(await answer()).toBe('one');
  save(`export const word: string = 'two';`);
  await printed(/^millrace reloaded in/);
  expect(await answer()).toBe('two');
  dev.kill('SIGINT');
  expect(await within(LIMIT_MS, dev.exited, () => dev.output.text())).toEqual({
    code: 0,
    signal: null,
  });
  expect(readdirSync(temporary).filter((name) => name.startsWith('millrace-'))).toEqual([]);
});
