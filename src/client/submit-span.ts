/** A submission as a span of the caller's own trace; the header says so to the server. */
import { isMillraceError } from '../scheduler/core/index.ts';
import { startSpan } from '../kit/index.ts';

type Headers = Readonly<Record<string, string>>;

/** `send` is called once. Without a tracer provider there is no span and no header. */
export async function traced<T>(
  name: string,
  jobId: string,
  send: (headers: Headers) => Promise<T>,
): Promise<T> {
  const span = startSpan(`submit ${name}`, {
    kind: 'producer',
    attributes: {
      'messaging.system': 'millrace',
      'messaging.operation.name': 'submit',
      'messaging.operation.type': 'send',
      'millrace.job.id': jobId,
    },
  });
  if (span === null) return send({});
  const { parent, state } = span.place;
  const headers = { traceparent: parent, ...(state === null ? {} : { tracestate: state }) };
  try {
    // What the platform sends for it belongs to it.
    return await span.within(() => send(headers));
  } catch (error) {
    span.fail(isMillraceError(error) ? error.code : 'unknown');
    throw error;
  } finally {
    span.end();
  }
}

/** The name of a job in a document of whatever kind. */
export function nameIn(document: unknown): string {
  const name = (document as { readonly name?: unknown } | null | undefined)?.name;
  return typeof name === 'string' && name !== '' ? name : 'job';
}
