/**
 * Sessions are bound to the credential that opened them. Behind the gRPC server a session is named by a digest
 * of the id that its worker chose and of the credential of the call. So a caller that knows the id but shows
 * another credential names a session that does not exist, on every leader and without a record of it; and the
 * store, events and other nodes never learn the id.
 */
import { createHash } from 'node:crypto';
import type { ServerUnaryCall } from '@grpc/grpc-js';
import type { SessionId } from '../../../scheduler/core/index.ts';
import { credentialOf } from './access.ts';

export function boundSession<T extends { readonly sessionId: SessionId }>(
  session: T,
  call: Pick<ServerUnaryCall<unknown, unknown>, 'metadata'>,
): T {
  const credential = credentialOf(call.metadata);
  if (credential === null) return session;
  return { ...session, sessionId: sessionName(session.sessionId, credential) };
}

const NAME_LENGTH = 32;

function sessionName(id: SessionId, credential: string): SessionId {
  const text = JSON.stringify([id, credential]);
  const digest = createHash('sha256').update(text).digest('hex');
  return digest.slice(0, NAME_LENGTH) as SessionId;
}
