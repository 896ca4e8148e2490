/** The leader, and how fresh an answer is. */
import type { LeaderAddress } from '../../../scheduler/core/index.ts';
import type { AsOf as WireAsOf, LeaderInfo } from '../gen/millrace/v1/types.ts';
import type { AsOf } from '../../../scheduler/contract/index.ts';
import {
  fromWireTime,
  optionalText,
  present,
  safeNumber,
  wireNumber,
  toWireTime,
} from './values.ts';

export function toWireLeader(leader: LeaderAddress | null | undefined): LeaderInfo | undefined {
  if (leader === null || leader === undefined) return undefined;
  const { nodeId, url, grpc, epoch } = leader;
  return { nodeId, url: url ?? '', grpc: grpc ?? '', epoch: wireNumber(epoch, 'leader/epoch') };
}

export function fromWireLeader(leader: LeaderInfo | undefined): LeaderAddress | null {
  if (leader === undefined) return null;
  return {
    nodeId: leader.nodeId,
    url: optionalText(leader.url),
    grpc: optionalText(leader.grpc),
    epoch: safeNumber(leader.epoch, 'leader/epoch'),
  };
}

export function toWireAsOf(asOf: AsOf<Date>): WireAsOf {
  const seq = wireNumber(asOf.seq, 'as_of/seq');
  return { seq, atMs: toWireTime(asOf.at, 'as_of/at_ms'), history: asOf.history ?? '' };
}

export function fromWireAsOf(given: WireAsOf | undefined): AsOf<Date> {
  const asOf = present(given, 'as_of');
  const history = asOf.history === '' ? {} : { history: asOf.history };
  const seq = safeNumber(asOf.seq, 'as_of/seq');
  return { seq, at: fromWireTime(asOf.atMs, 'as_of/at_ms'), ...history };
}
