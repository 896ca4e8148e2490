/** From functions that answer or throw to handlers as gRPC wants them. */
import type {
  handleServerStreamingCall,
  handleUnaryCall,
  ServerUnaryCall,
  ServerWritableStream,
  ServiceDefinition,
  UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { MillraceError } from '../../core/index.ts';
import { type Clock, deferred } from '../../kit/index.ts';
import { statusOf } from '../status.ts';
import { cutOff } from './http2-call.ts';

/** What a server offers. `life` aborts when the server stops: whoever is parked has to go. */
export interface RpcService {
  readonly definition: ServiceDefinition;
  handlers(life: AbortSignal): UntypedServiceImplementation;
}

/** Stands for a request whose bytes are no message. */
const UNDECODABLE: unique symbol = Symbol('undecodable');

/** gRPC would call bytes that are no message an error of ours: here they are bad input. */
export function tolerant(definition: ServiceDefinition): ServiceDefinition {
  const methods = Object.entries(definition).map(([name, method]) => {
    const requestDeserialize = (bytes: Buffer): unknown => {
      try {
        return method.requestDeserialize(bytes) as unknown;
      } catch {
        return UNDECODABLE;
      }
    };
    return [name, { ...method, requestDeserialize }];
  });
  return Object.fromEntries(methods) as ServiceDefinition;
}

function checkRequest(request: unknown, life: AbortSignal): void {
  if (request === UNDECODABLE) {
    throw new MillraceError({
      code: 'bad_input',
      what: 'The request is not what the method takes.',
    });
  }
  if (life.aborted) throw shuttingDown();
}

function shuttingDown(): MillraceError {
  return new MillraceError({ code: 'shutting_down', what: 'This node is shutting down.' });
}

export function unary<Request, Response>(
  life: AbortSignal,
  answer: (
    request: Request,
    call: ServerUnaryCall<Request, Response>,
  ) => Promise<Response> | Response,
): handleUnaryCall<Request, Response> {
  const answered = async (call: ServerUnaryCall<Request, Response>): Promise<Response> => {
    checkRequest(call.request, life);
    return answer(call.request, call);
  };
  return (call, send) => {
    answered(call).then(
      (response) => send(null, response),
      (thrown: unknown) => send(statusOf(thrown)),
    );
  };
}

export function unimplemented<Request, Response>(what: string): handleUnaryCall<Request, Response> {
  return (_call, callback) =>
    callback(statusOf(new MillraceError({ code: 'unimplemented', what })));
}

export function unimplementedStream<Request, Response>(
  what: string,
): handleServerStreamingCall<Request, Response> {
  return (call) => {
    call.emit('error', statusOf(new MillraceError({ code: 'unimplemented', what })));
  };
}

export interface StreamOptions {
  readonly life: AbortSignal;
  readonly clock: Clock;
  /** How long the other side may take nothing. */
  readonly stalledMs: number;
}

/** Sends what `produce` yields at the pace of the reader; nothing piles up for a slow one. */
export function streaming<Request, Response>(
  options: StreamOptions,
  produce: (request: Request, signal: AbortSignal) => AsyncIterable<Response>,
): handleServerStreamingCall<Request, Response> {
  return (call) => {
    void pump(call, options, produce);
  };
}

async function pump<Request, Response>(
  call: ServerWritableStream<Request, Response>,
  options: StreamOptions,
  produce: (request: Request, signal: AbortSignal) => AsyncIterable<Response>,
): Promise<void> {
  const { life } = options;
  const over = new AbortController();
  const end = (): void => over.abort();
  call.once('cancelled', end);
  life.addEventListener('abort', end, { once: true });
  try {
    checkRequest(call.request, life);
    for await (const message of produce(call.request, over.signal)) {
      if (over.signal.aborted) break;
      if (call.write(message)) continue;
      if (await drained(call, over.signal, options)) continue;
      cutOff(call);
      break;
    }
    if (life.aborted) throw shuttingDown();
    call.end();
  } catch (thrown) {
    call.emit('error', statusOf(thrown));
  } finally {
    life.removeEventListener('abort', end);
    over.abort();
  }
}

/** False when the reader took nothing for too long. */
async function drained(
  call: ServerWritableStream<unknown, unknown>,
  signal: AbortSignal,
  { clock, stalledMs }: StreamOptions,
): Promise<boolean> {
  const outcome = deferred<boolean>();
  const go = (): void => outcome.resolve(true);
  call.once('drain', go);
  signal.addEventListener('abort', go, { once: true });
  const cancelTimer = clock.after(stalledMs, () => outcome.resolve(false));
  try {
    return signal.aborted || (await outcome.promise);
  } finally {
    cancelTimer();
    call.off('drain', go);
    signal.removeEventListener('abort', go);
  }
}
