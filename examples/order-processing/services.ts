/**
 * What a shop calls: a warehouse, a bank and a carrier, as small as can be. All that they do is a line in
 * `books.jsonl`, so that one can see afterwards what really happened, and how often.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { FatalError } from 'millrace';

interface Entry {
  readonly did: 'reserved' | 'released' | 'charged' | 'refunded' | 'no answer' | 'collected';
  readonly order: string;
  readonly cents?: number;
  readonly key?: string;
}

const BOOKS = 'books.jsonl';

function entries(order: string): Entry[] {
  const text = existsSync(BOOKS) ? readFileSync(BOOKS, 'utf8') : '';
  const all = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Entry);
  return all.filter((entry) => entry.order === order);
}

function write(entry: Entry): void {
  appendFileSync(BOOKS, `${JSON.stringify(entry)}\n`);
  console.log(`${entry.order}: ${entry.did}`);
}

/** How often the one happened and was not taken back by the other. */
function open(order: string, did: Entry['did'], back: Entry['did']): number {
  const count = (what: Entry['did']): number =>
    entries(order).filter((entry) => entry.did === what).length;
  return count(did) - count(back);
}

interface Order {
  readonly id: string;
  readonly item: string;
  readonly cents: number;
  readonly card: string;
}

export const warehouse = {
  reserve({ id }: Order): string {
    if (open(id, 'reserved', 'released') === 0) write({ did: 'reserved', order: id });
    return `shelf-${id}`;
  },
  release(order: string): boolean {
    if (open(order, 'reserved', 'released') === 0) return false;
    write({ did: 'released', order });
    return true;
  },
};

export const bank = {
  charge({ id, cents, card }: Order, key: string): string {
    // It is of no use to try again, and this kind of error says so.
    if (card === 'empty') throw new FatalError('the card was refused');
    const isKnown = entries(id).some((entry) => entry.key === key);
    if (!isKnown) write({ did: 'charged', order: id, cents, key });
    return `receipt-${id}`;
  },
  refund(order: string): boolean {
    if (open(order, 'charged', 'refunded') === 0) return false;
    write({ did: 'refunded', order });
    return true;
  },
};

export const carrier = {
  /** Out of order at first: it answers when it is asked for the third time. */
  collect({ id, item }: Order, shelf: string): string {
    if (item === 'anvil') throw new FatalError('nobody carries an anvil');
    if (open(id, 'no answer', 'collected') < 2) {
      write({ did: 'no answer', order: id });
      throw new Error('the carrier does not answer');
    }
    write({ did: 'collected', order: id });
    return `parcel from ${shelf}`;
  },
};
