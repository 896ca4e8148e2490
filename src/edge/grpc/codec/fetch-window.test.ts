import { expect, test } from 'vitest';
import type { JobId } from '../../../scheduler/core/index.ts';
import { Orders } from '../gen/millrace/v1/types.ts';
import type { Beat, WorkerOrders } from '../../../scheduler/contract/index.ts';
import { fromWireOrders, toWireOrders } from './lease.ts';
import { fromWireBeat, toWireBeat } from './session.ts';

const ORDERS: WorkerOrders = { abort: [], drain: false, slowDownMs: 0 };

function sent(orders: WorkerOrders): WorkerOrders {
  return fromWireOrders(Orders.decode(Orders.encode(toWireOrders(orders)).finish()));
}

test('a recommended window arrives with the orders', () => {
  const orders = { ...ORDERS, fetchWindowBytes: 5 * 2 ** 20 };
  expect(sent(orders)).toEqual(orders);
});

test('what to fetch ahead arrives with the orders, and a query without an id is refused', () => {
  const orders = { ...ORDERS, fetchAhead: [{ query: 'q' as JobId, reads: '[{"at":1}]' }] };
  expect(sent(orders)).toEqual(orders);
  const wire = { ...toWireOrders(ORDERS), fetchAhead: [{ queryId: '', reads: '[]' }] };
  expect(() => fromWireOrders(wire)).toThrow(/query_id/);
});

test('orders without a window have no field and take no byte more', () => {
  expect(Object.keys(sent(ORDERS))).toEqual(['abort', 'drain', 'slowDownMs']);
  expect(Orders.encode(toWireOrders(ORDERS)).finish()).toHaveLength(0);
});

test('a window that is not a safe number is refused', () => {
  const wire = { ...toWireOrders(ORDERS), fetchWindowBytes: 2n ** 60n };
  expect(() => fromWireOrders(wire)).toThrow(/fetch_window_bytes/);
});

test('what a worker takes in arrives with its heartbeat', () => {
  const figures = { residentBytes: 1, shuffleBytes: 2, diskFreeBytes: 3, fetchBytesPerSecond: 4 };
  const beat = {
    ...{ nodeId: 'w', sessionId: 's', held: [], seenPoll: 1, executors: [], figures },
  } as unknown as Beat;
  expect(fromWireBeat(toWireBeat(beat, 1)).figures).toEqual(figures);
});
