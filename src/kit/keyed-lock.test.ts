import { expect, test } from 'vitest';
import { deferred } from './deferred.ts';
import { KeyedLock } from './keyed-lock.ts';

test('calls with the same key run one after the other, others at once', async () => {
  const lock = new KeyedLock();
  const gate = deferred();
  const order: string[] = [];
  const first = lock.run(['a', 'b'], async () => {
    order.push('first starts');
    await gate.promise;
    order.push('first ends');
  });
  const second = lock.run(['b', 'c'], async () => {
    order.push('second');
  });
  await lock.run(['d'], async () => {
    order.push('other');
  });
  gate.resolve();
  await Promise.all([first, second]);
  expect(order).toEqual(['first starts', 'other', 'first ends', 'second']);
});

test('a failure releases the key and reaches only its own caller', async () => {
  const lock = new KeyedLock();
  const failing = lock.run(['a'], () => Promise.reject(new Error('no')));
  const next = lock.run(['a'], () => Promise.resolve('yes'));
  await expect(failing).rejects.toThrow('no');
  await expect(next).resolves.toBe('yes');
});

test('callers that take the same keys in another order do not deadlock', async () => {
  const lock = new KeyedLock();
  const runs = Array.from({ length: 20 }, (_, at) =>
    lock.run(at % 2 === 0 ? ['x', 'y'] : ['y', 'x'], () => Promise.resolve(at)),
  );
  await expect(Promise.all(runs)).resolves.toHaveLength(20);
});
