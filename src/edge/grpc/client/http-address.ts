/**
 * The HTTP address of a node in place of its gRPC address. People know `http://host:7070` from every other command, or
 * mistake one port for the other. A node says over HTTP who leads, so the answer is treated like that of a follower: a
 * `not_leader` that names the gRPC address to call.
 */
import { request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { type ErrorCode, MillraceError } from '../../../scheduler/core/index.ts';
import type { ConnectionOptions } from './connections.ts';

/** An answer about the leader has a few hundred bytes. */
const ANSWER_BYTES_MAX = 16_384;

export function isHttpAddress(address: string): boolean {
  return /^https?:\/\//i.test(address);
}

/** Null if no Millrace server answers there over HTTP. */
export async function leaderByHttp(
  address: string,
  options: Pick<ConnectionOptions, 'tls' | 'token'>,
  withinMs: number,
): Promise<MillraceError | null> {
  const scheme = options.tls === null ? 'http' : 'https';
  const given = isHttpAddress(address) ? address : `${scheme}://${address}`;
  if (!URL.canParse(given)) return null;
  const url = new URL(given);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/api/v1/leader`;
  try {
    const { status, body } = await answerOf(url, options, withinMs);
    return meaningOf(status, body, address);
  } catch {
    return null;
  }
}

interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

function answerOf(
  url: URL,
  { tls, token }: Pick<ConnectionOptions, 'tls' | 'token'>,
  withinMs: number,
): Promise<HttpAnswer> {
  const isSecure = url.protocol === 'https:';
  // Connections to the leader are encrypted, so the token is not for one that is not.
  const shown = isSecure || tls === null ? (token?.(hostAndPort(url)) ?? null) : null;
  const options = {
    agent: false,
    headers: shown === null ? {} : { authorization: `Bearer ${shown}` },
    signal: AbortSignal.timeout(withinMs),
  };
  return new Promise((resolve, reject) => {
    const take = (response: IncomingMessage): void => {
      bodyOf(response).then(
        (body) => resolve({ status: response.statusCode ?? 0, body }),
        (error: unknown) => reject(error instanceof Error ? error : new Error(String(error))),
      );
    };
    const request = isSecure
      ? tlsRequest(url, { ...options, ...tls }, take)
      : plainRequest(url, options, take);
    request.once('error', reject);
    request.end();
  });
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > ANSWER_BYTES_MAX) throw new Error('The answer is too long.');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

function hostAndPort({ hostname, port, protocol }: URL): string {
  return `${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`;
}

const REFUSALS: Readonly<Partial<Record<number, ErrorCode>>> = {
  401: 'unauthenticated',
  403: 'forbidden',
};

function meaningOf(status: number, body: string, address: string): MillraceError | null {
  const answer = objectIn(body);
  if (answer === null) return null;
  const { nodeId, url, grpc, epoch, code } = answer;
  if (status === 200 && typeof nodeId === 'string' && typeof grpc === 'string') {
    return new MillraceError({
      code: 'not_leader',
      what: `${address} is an HTTP address; the leader ${nodeId} takes gRPC calls at ${grpc}.`,
      leader: {
        nodeId,
        grpc,
        url: typeof url === 'string' ? url : null,
        epoch: typeof epoch === 'number' ? epoch : 0,
      },
    });
  }
  // Every error of a Millrace server has a code.
  if (typeof code !== 'string') return null;
  const refusal = REFUSALS[status];
  if (refusal === undefined) {
    return new MillraceError({
      code: 'not_leader',
      what: `${address} is an HTTP address, and the server there knows no leader at the moment.`,
    });
  }
  const todo =
    'Give a token with --token-file or MILLRACE_TOKEN, or the gRPC address (port 7071 by default).';
  const what = `${address} is an HTTP address, and the server there refused to name the leader.`;
  return new MillraceError({ code: refusal, what, todo });
}

function objectIn(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
