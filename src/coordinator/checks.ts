/** What comes from outside, checked before it reaches the core: what a store would refuse there would
 * cost everybody a reading back. */
import { MillraceError, isId, parseCapabilities } from '../core/index.ts';
import type { NodeOffer } from '../core/index.ts';
import { cleanText } from './text.ts';

export function checkId(id: string, kind: string): void {
  if (isId(id)) return;
  throw new MillraceError({
    code: 'bad_input',
    what: `${JSON.stringify(cleanText(id).slice(0, 80))} is no ${kind} id.`,
    todo: 'Use up to 200 letters, digits and _ . : @ + = -',
  });
}

/** More than any node has; a typing mistake, not a machine. */
const SLOTS_MAX = 100_000;

export function checkedOffer(offer: NodeOffer): NodeOffer {
  checkId(offer.id, 'node');
  checkId(offer.sessionId, 'session');
  for (const executor of offer.executors) checkId(executor, 'executor');
  if (!Number.isSafeInteger(offer.slots) || offer.slots < 0 || offer.slots > SLOTS_MAX) {
    throw new MillraceError({
      code: 'bad_input',
      what: `A node has 0 to ${SLOTS_MAX} slots, not ${offer.slots}.`,
    });
  }
  return {
    ...offer,
    capabilities: parseCapabilities(offer.capabilities, '/capabilities'),
    address: offer.address === null ? null : cleanText(offer.address),
    version: cleanText(offer.version),
  };
}
