/**
 * W3C Trace Context in documents, headers and rows. What does not fit its grammar is ignored: a strange header must
 * not cost anybody a job. What fits is written in one form, so that nobody behind this has to look at it again.
 */
import type { Trace } from './document.ts';

/** A version after 00 may add fields behind these; the version ff is reserved. */
const PARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-[!-~]*)?$/;
const PARENT_LENGTH_MAX = 200;
const STATE_LENGTH_MAX = 512;
const STATE_MEMBERS_MAX = 32;
const STATE_MEMBER =
  /^(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=[ -+\--<>-~]{0,255}[!-+\--<>-~]$/;

/** Null for anything but text of the grammar. A bad `state` is dropped by itself. */
export function readTrace(parent: unknown, state?: unknown): Trace | null {
  if (typeof parent !== 'string' || parent.length > PARENT_LENGTH_MAX) return null;
  const found = PARENT.exec(parent);
  if (found === null) return null;
  const [, version = '', traceId = '', spanId = '', flags = '', more] = found;
  if (version === '00' && more !== undefined) return null;
  // Of the flags only this one is known to mean the same in every version.
  const isSampled = (Number.parseInt(flags, 16) & 1) === 1;
  return {
    parent: `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`,
    state: readState(state),
  };
}

function readState(state: unknown): string | null {
  if (typeof state !== 'string' || state.length > STATE_LENGTH_MAX) return null;
  const members = state
    .split(',')
    .map((member) => member.replaceAll(/^[ \t]+|[ \t]+$/g, ''))
    .filter((member) => member !== '');
  if (members.length === 0 || members.length > STATE_MEMBERS_MAX) return null;
  if (!members.every((member) => STATE_MEMBER.test(member))) return null;
  const keys = new Set(members.map((member) => member.slice(0, member.indexOf('='))));
  return keys.size === members.length ? members.join(',') : null;
}

/** The 32 hexadecimal digits by which people find a trace. */
export function traceIdOf({ parent }: Trace): string {
  return parent.slice(3, 35);
}
