/** From functions that answer or throw to handlers as gRPC wants them. */
import type {
  handleServerStreamingCall,
  handleUnaryCall,
  ServerUnaryCall,
  ServerWritableStream,
  ServiceDefinition,
  UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { MillraceError } from '../../../scheduler/core/index.ts';
import { type Clock, deferred } from '../../../kit/index.ts';
import { statusOf } from '../status.ts';
import { cutOff } from './http2-call.ts';

/** The services of a server. `life` aborts when the server stops, so that parked calls end. */
export interface RpcService {
  readonly definition: ServiceDefinition;
  handlers(life: AbortSignal): UntypedServiceImplementation;
}

/** Marks a request whose bytes are not a message. */
const UNDECODABLE: unique symbol = Symbol('undecodable');

/** gRPC would report bytes that are not a message as an internal error; here they are bad input. */
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
      what: 'The request does not match the type of the method.',
    });
  }
  if (life.aborted) throw shuttingDown();
}

export function shuttingDown(): MillraceError {
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

export interface StreamOptions {
  readonly life: AbortSignal;
  readonly clock: Clock;
  /** How long the other side may take nothing. */
  readonly stalledMs: number;
  /** How many messages may wait for the other side; as many as gRPC likes if not given. */
  readonly pendingMax?: number;
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
  const { write, hasRoom } = writer(call, options.pendingMax);
  call.once('cancelled', end);
  life.addEventListener('abort', end, { once: true });
  try {
    checkRequest(call.request, life);
    for await (const message of produce(call.request, over.signal)) {
      if (over.signal.aborted) break;
      write(message);
      if (hasRoom() || (await drained(call, hasRoom, over.signal, options))) continue;
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

interface Writer<Response> {
  readonly write: (message: Response) => void;
  readonly hasRoom: () => boolean;
}

/** gRPC lets sixteen messages wait. Where they are large, that is too much for each of many readers. */
function writer<Response>(
  call: ServerWritableStream<unknown, Response>,
  pendingMax: number | undefined,
): Writer<Response> {
  if (pendingMax === undefined) {
    return {
      write: (message) => void call.write(message),
      hasRoom: () => !call.writableNeedDrain,
    };
  }
  let pending = 0;
  const taken = (): void => {
    pending -= 1;
    call.emit(TAKEN);
  };
  return {
    write: (message) => {
      pending += 1;
      call.write(message, taken);
    },
    hasRoom: () => pending < pendingMax,
  };
}

/** A message has left. */
const TAKEN = 'millrace.taken';

/** False when the reader took nothing for too long. */
async function drained(
  call: ServerWritableStream<unknown, unknown>,
  hasRoom: () => boolean,
  signal: AbortSignal,
  { clock, stalledMs }: StreamOptions,
): Promise<boolean> {
  const outcome = deferred<boolean>();
  const look = (): void => {
    if (hasRoom() || signal.aborted) outcome.resolve(true);
  };
  call.on('drain', look);
  call.on(TAKEN, look);
  signal.addEventListener('abort', look, { once: true });
  const cancelTimer = clock.after(stalledMs, () => outcome.resolve(false));
  try {
    look();
    return await outcome.promise;
  } finally {
    cancelTimer();
    call.off('drain', look);
    call.off(TAKEN, look);
    signal.removeEventListener('abort', look);
  }
}
