/** The text of one SELECT in a fixed layout: one clause per line, nested queries indented by two. */

export interface Select {
  readonly distinct?: string;
  /** Its output: `c0`, `c1`, ... in order. */
  readonly columns: readonly string[];
  readonly from?: string;
  readonly where?: readonly string[];
  readonly groupBy?: string;
  readonly orderBy?: string;
  readonly limit?: string;
}

export function printSelect(select: Select): string {
  const columns = select.columns.map((text, i) => named(text, i));
  // A relation without columns still has rows.
  const list = columns.length === 0 ? 'NULL AS none' : columns.join(', ');
  const where = select.where ?? [];
  const lines = [
    `SELECT ${select.distinct === undefined ? '' : `${select.distinct} `}${list}`,
    select.from === undefined ? '' : `FROM ${select.from}`,
    where.length === 0 ? '' : `WHERE ${where.join(' AND ')}`,
    clause('GROUP BY', select.groupBy),
    clause('ORDER BY', select.orderBy),
    select.limit ?? '',
  ];
  return lines.filter((line) => line !== '').join('\n');
}

/** A query as a table. Literals have no line breaks, so only layout is indented. */
export function nested(query: string): string {
  return `(\n${query.replace(/^/gm, '  ')}\n)`;
}

export function columnName(index: number): string {
  return `c${index}`;
}

function named(text: string, index: number): string {
  const name = columnName(index);
  return text.endsWith(`.${name}`) && /^\w+\.\w+$/.test(text) ? text : `${text} AS ${name}`;
}

function clause(word: string, text: string | undefined): string {
  return text === undefined || text === '' ? '' : `${word} ${text}`;
}
