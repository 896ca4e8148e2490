import { expectTypeOf, test } from 'vitest';
import type { Leader } from '../../scheduler/coordinator/index.ts';
import type { StoreReader } from '../read/index.ts';
import type { Reader } from '../../scheduler/contract/index.ts';
import type { LeaderPort } from './index.ts';

test('a leader and a reader of the store fit the ports as they are', () => {
  expectTypeOf<Leader>().toExtend<LeaderPort>();
  expectTypeOf<StoreReader>().toExtend<Reader>();
});
