/** Limits on the size and duration of requests. */
export interface ApiLimits {
  /** A document may have 16 MiB; this leaves room for what surrounds it. */
  readonly bodyBytesMax: number;
  /** Documents in one list. */
  readonly listMax: number;
  readonly connectionsMax: number;
  readonly sseClientsMax: number;
  /** From the first byte of a request to the end of its headers ... */
  readonly headersMs: number;
  /** ... and to the end of its body. */
  readonly requestMs: number;
  /** Between two pieces of a body. */
  readonly bodyIdleMs: number;
  /** How long a client may leave its socket full before it is cut. */
  readonly stallMs: number;
  readonly keepAliveMs: number;
  /** How often the two limits above for requests are looked at. */
  readonly checkEveryMs: number;
  /** A stream of events is never silent for longer. */
  readonly heartbeatMs: number;
  /** After a refusal, how long the rest of the body is read and discarded, so that the response arrives. */
  readonly lingerMs: number;
  /** How long running requests may take when the server stops. */
  readonly graceMs: number;
}

export const defaultApiLimits: ApiLimits = {
  bodyBytesMax: 17 * 1024 * 1024,
  listMax: 1_000,
  connectionsMax: 10_000,
  sseClientsMax: 1_000,
  headersMs: 10_000,
  requestMs: 120_000,
  bodyIdleMs: 10_000,
  stallMs: 30_000,
  keepAliveMs: 65_000,
  checkEveryMs: 5_000,
  heartbeatMs: 15_000,
  lingerMs: 2_000,
  graceMs: 10_000,
};
