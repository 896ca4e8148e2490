/** What is put into one message between a worker and the leader; what stands around it has room in the rest. No single
 * result, step or document is larger than this on its way to the leader. */
export const PAYLOAD_BYTES_MAX: number = 16 * 1024 * 1024;
