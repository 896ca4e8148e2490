import { expect, test } from 'vitest';
import { defaultQuerySettings, planSettings } from './settings.ts';

const MIB = 2 ** 20;

test.each([
  ['its tasks would have more processors than one', {}, { slots: 4, ofOne: 3 }, 22 * MIB],
  ['one task would have as many processors', {}, { slots: 4, ofOne: 4 }, 256 * MIB],
  ['no worker is known', {}, { slots: 0, ofOne: 0 }, 22 * MIB],
  ['partitions are asked for', { shufflePartitions: 2 }, { slots: 2, ofOne: 8 }, 22 * MIB],
  ['the size is asked for', { singleFragmentBytes: 0 }, { slots: 2, ofOne: 8 }, 0],
])(
  'a query runs whole up to a size that depends on whether %s',
  (_when, given, processors, bytes) => {
    const settings = { ...defaultQuerySettings, ...given };
    expect(planSettings(settings, processors).singleFragmentBytes).toBe(bytes);
  },
);
