/** The limit on the payload of one message between a worker and the leader, with room left for the rest. No single
 * result, step or document may be larger. */
export const PAYLOAD_BYTES_MAX: number = 16 * 1024 * 1024;
