import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { endProcess } from './end-process.ts';
import { VirtualClock } from './virtual-clock.ts';

/** A child that says when it listens to signals. */
async function child(onSignal: string): Promise<ChildProcess> {
  const code = `process.on('SIGTERM', () => { ${onSignal} }); setInterval(() => {}, 1e6); process.send('up')`;
  const made = spawn(process.execPath, ['-e', code], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  await once(made, 'message');
  return made;
}

test('a child that ends when it is asked to is not killed', async () => {
  const clock = new VirtualClock();
  const made = await child('process.exit(7)');
  await endProcess(made, 1_000, clock);
  expect([made.exitCode, made.signalCode]).toEqual([7, null]);
  expect(clock.nextAtMs).toBeNull();
});

test('a child that does not is killed when its time is over', async () => {
  const clock = new VirtualClock();
  const made = await child("process.send('heard')");
  const heard = once(made, 'message');
  const ended = endProcess(made, 1_000, clock);
  await heard;
  await clock.advance(1_000);
  await ended;
  expect(made.signalCode).toBe('SIGKILL');
});

test('a child that has ended is not waited for', async () => {
  const made = await child('process.exit(0)');
  const exited = once(made, 'exit');
  made.kill('SIGKILL');
  await exited;
  await endProcess(made, 1_000, new VirtualClock());
  expect(made.signalCode).toBe('SIGKILL');
});
