/**
 * What every store must do, in sentences. Each adapter runs this one suite from a test file of its
 * own, so a promise of the port is tested once and kept three times.
 */
import { describe } from 'vitest';
import { batchTests } from './batch.ts';
import { benchOf, type OpenedStore } from './bench.ts';
import { historyTests } from './history.ts';
import { leadershipTests } from './leadership.ts';
import { listingTests } from './listing.ts';
import { loadingTests } from './loading.ts';
import { logTests } from './log.ts';
import { movingTests } from './moving.ts';
import { refusalTests } from './refusal.ts';
import { retentionTests } from './retention.ts';
import { rowTests } from './row.ts';
import { signalTests } from './signals.ts';
import { taskLogTests } from './task-log.ts';

export type { OpenedStore } from './bench.ts';

export function storeConformance(name: string, open: () => Promise<OpenedStore>): void {
  describe(`the ${name} store keeps the promises of the port`, () => {
    const bench = benchOf(open);
    describe('leadership', () => {
      leadershipTests(bench);
    });
    describe('history', () => {
      historyTests(bench);
    });
    describe('a batch', () => {
      batchTests(bench);
    });
    describe('a refused batch', () => {
      refusalTests(bench);
    });
    describe('rows', () => {
      rowTests(bench);
    });
    describe('signals', () => {
      signalTests(bench);
    });
    describe('loading', () => {
      loadingTests(bench);
    });
    describe('lists', () => {
      listingTests(bench);
    });
    describe('the event log', () => {
      logTests(bench);
    });
    describe('the log of tasks', () => {
      taskLogTests(bench);
    });
    describe('retention', () => {
      retentionTests(bench);
    });
    describe('moving', () => {
      movingTests(bench);
    });
  });
}
