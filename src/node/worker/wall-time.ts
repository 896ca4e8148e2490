/**
 * The only place of a worker that looks at the wall clock, for what people read. Leases, deadlines and
 * order rest on the monotonic clock and on the leader; `offsetMs` exists to prove that.
 */
export function wallTime(offsetMs: number): string {
  return new Date(Date.now() + offsetMs).toISOString();
}
