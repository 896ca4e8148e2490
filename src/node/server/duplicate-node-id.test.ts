import { beforeEach, expect, test } from 'vitest';
import { instant } from '../../scheduler/core/index.ts';
import type { TermId } from '../../scheduler/core/index.ts';
import type { LeaderInfo } from '../../scheduler/store/index.ts';
import { DuplicateIdWatch } from './duplicate-node-id.ts';

const info = (parts: Partial<LeaderInfo>): LeaderInfo => ({
  nodeId: 'n-1',
  url: null,
  grpc: null,
  epoch: 1,
  term: 'other' as TermId,
  expiresAt: instant(1_000),
  ...parts,
});

let watch: DuplicateIdWatch;

beforeEach(() => {
  watch = new DuplicateIdWatch('n-1');
});

test('a leader of the same node id that renews its term is another process', () => {
  expect(watch.isTwin(info({}))).toBe(false);
  expect(watch.isTwin(info({ expiresAt: instant(2_000) }))).toBe(true);
});

test('a term of an ended process with this node id is not a second server: nobody renews it', () => {
  for (let look = 0; look < 3; look += 1) expect(watch.isTwin(info({}))).toBe(false);
});

test('nor is a term of this process, or a leader with another node id', () => {
  watch.made('own' as TermId);
  for (const expiresAt of [instant(1_000), instant(2_000)]) {
    expect(watch.isTwin(info({ term: 'own' as TermId, expiresAt }))).toBe(false);
    expect(watch.isTwin(info({ nodeId: 'n-2', expiresAt }))).toBe(false);
  }
});
