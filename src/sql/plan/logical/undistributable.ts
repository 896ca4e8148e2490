/** A query, or a part of it, that Millrace does not divide. Nobody sees it as an error: the query runs whole, on one
 * node, and its plan says why. */
export class Undistributable extends Error {
  override readonly name = 'Undistributable';
  /** For users: completes "The query runs on one node because ...". */
  readonly reason: string;
  /** For whoever looks after Millrace: nobody has thought of this, and it should be looked at. */
  readonly oddity: string | null;

  constructor(reason: string, oddity: string | null = null) {
    super(oddity === null ? reason : `${reason}: ${oddity}`);
    this.reason = reason;
    this.oddity = oddity;
  }
}

/** DuckDB's plan has something that is not known here. What it is means nothing to whoever has written the query. */
export function unknownPlan(oddity: string): Undistributable {
  return new Undistributable('its DuckDB plan has a part that is not supported', oddity);
}
