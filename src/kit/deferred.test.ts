import { expect, test } from 'vitest';
import { deferred } from './deferred.ts';

test('a deferred settles from outside, once', async () => {
  const good = deferred<number>();
  good.resolve(1);
  good.resolve(2);
  await expect(good.promise).resolves.toBe(1);

  const bad = deferred();
  bad.reject(new Error('no'));
  await expect(bad.promise).rejects.toThrow('no');
});
