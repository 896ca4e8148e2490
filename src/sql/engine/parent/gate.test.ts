import { expect, test } from 'vitest';
import { Gate } from './gate.ts';

const never = new AbortController().signal;

test('admits up to the limit, then in order of arrival', async () => {
  const gate = new Gate(1);
  const leave = await gate.enter(never);
  const order: string[] = [];
  const second = gate.enter(never).then((go) => (order.push('second'), go));
  const third = gate.enter(never).then((go) => (order.push('third'), go));
  leave();
  leave();
  (await second)();
  (await third)();
  expect(order).toEqual(['second', 'third']);
});

test('removes only the caller that gives up from the queue', async () => {
  const gate = new Gate(1);
  const leave = await gate.enter(never);
  const given = new AbortController();
  const quitter = gate.enter(given.signal);
  const patient = gate.enter(never);
  given.abort(new Error('enough'));
  await expect(quitter).rejects.toThrow('enough');
  leave();
  await expect(patient).resolves.toBeTypeOf('function');
  await expect(gate.enter(given.signal)).rejects.toThrow('enough');
});
