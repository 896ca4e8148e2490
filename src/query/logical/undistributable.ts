/** A query, or a part of it, that Millrace does not divide. Nobody sees it as an error: the query runs whole, on one
 * node, and its plan says why. */
export class Undistributable extends Error {
  override readonly name = 'Undistributable';
  /** For people: completes "The query runs on one node because ...". */
  readonly reason: string;

  constructor(reason: string) {
    super(reason);
    this.reason = reason;
  }
}
