/**
 * A query, or a part of one, that cannot be distributed. It is not an error for the user: the query runs as a single
 * fragment on one node, and its plan says why.
 */
export class Undistributable extends Error {
  override readonly name = 'Undistributable';
  /** For users: completes "The query runs on one node because ...". */
  readonly reason: string;
  /** For developers of Millrace: an unexpected part of a plan, to be looked into. */
  readonly oddity: string | null;

  constructor(reason: string, oddity: string | null = null) {
    super(oddity === null ? reason : `${reason}: ${oddity}`);
    this.reason = reason;
    this.oddity = oddity;
  }
}

/** DuckDB's plan has a part that is not known here. The details mean nothing to the author of the query. */
export function unknownPlan(oddity: string): Undistributable {
  return new Undistributable('its DuckDB plan has a part that is not supported', oddity);
}
