/** What comes from outside, checked before it reaches the core: what a store would refuse there would
 * cost everybody a reading back. */
import { MillraceError, isId, parseCapabilities, utf8Bytes } from '../core/index.ts';
import type { NodeOffer, Settings } from '../core/index.ts';
import { payloadFault } from './payload-checks.ts';
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

/** What is stored of a signal: its value, in an object. `body` is JSON text. */
export function wrappedSignal(
  name: string,
  body: string,
  signalId: string,
  { signalBytesMax }: Settings,
): string {
  if (!isId(name)) {
    throw new MillraceError({
      code: 'bad_input',
      what: `${JSON.stringify(cleanText(name).slice(0, 80))} is no name of a signal.`,
      todo: 'Use up to 200 letters, digits and _ . : @ + = -',
    });
  }
  checkId(signalId, 'signal');
  const wrapped = `{"value":${body}}`;
  if (wrapped.length > signalBytesMax || utf8Bytes(wrapped) > signalBytesMax) {
    throw new MillraceError({
      code: 'too_large',
      what: `The signal is ${utf8Bytes(wrapped)} bytes, ${signalBytesMax} are allowed.`,
      todo: 'Keep the data elsewhere, and send where it is.',
    });
  }
  const fault = payloadFault(body, signalBytesMax);
  if (fault === null) return wrapped;
  throw new MillraceError({ code: 'bad_input', what: `The value of the signal ${fault}.` });
}
