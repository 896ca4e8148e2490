/**
 * The eight tables as SELECTs over ranges of keys. Every value is a function of its row's key and nothing else, so
 * that any part of any table can be made anywhere, in any order, and is always the same. Shapes, key relations and
 * distributions are those that the public TPC-H specification describes; the values are our own.
 */
import { PIECE_LENGTH } from './text-pool.ts';
import * as words from './words.ts';

export interface Sizes {
  readonly supplier: number;
  readonly part: number;
  readonly customer: number;
  readonly orders: number;
}

/** How many rows at this scale; 1 is about a gigabyte of text. `lineitem` has about four for an order. */
export function sizesAt(scale: number): Sizes {
  const at = (rows: number): number => Math.max(1, Math.round(rows * scale));
  return {
    supplier: at(10_000),
    part: at(200_000),
    customer: at(150_000),
    orders: at(1_500_000),
  };
}

const text = (value: string): string => `'${value.replaceAll("'", "''")}'`;
const list = (values: readonly string[]): string => `[${values.map(text).join(', ')}]`;

/**
 * `dice(k, c, n)` is a number below n for column c of the row with key k. DuckDB's `hash` of several arguments
 * combines them by XOR, which would tie the columns to each other; so key and column become one number first.
 */
export const MACROS: readonly string[] = [
  'CREATE MACRO dice(k, c, n) AS (hash(k * 32 + c) % n::UBIGINT)::BIGINT',
  'CREATE MACRO pick(words, k, c) AS words[1 + dice(k, c, len(words))]',
  // Text of the pool, `low` to `high` characters long: the columns c, c + 1 and c + 2 say which piece, where and how much.
  `CREATE MACRO comment(k, c, low, high) AS substr(
     getvariable('pool')[1 + dice(k, c, len(getvariable('pool')))],
     1 + dice(k, c + 1, ${PIECE_LENGTH} - high), low + dice(k, c + 2, high - low + 1))`,
  'CREATE MACRO letters(k, c) AS to_base((hash(k * 32 + c) >> 1)::BIGINT, 36, 12)',
  // Letters and digits, 10 to 40 of them.
  `CREATE MACRO address(k, c) AS substr(letters(k, c) || letters(k, c + 1) || letters(k, c + 2) || letters(k, c + 3),
     1, 10 + dice(k, c, 31))`,
  'CREATE MACRO money(k, c, low, cents) AS ((low + dice(k, c, cents)) / 100)::DECIMAL(15, 2)',
  `CREATE MACRO phone(nation, k, c) AS printf('%d-%03d-%03d-%04d', 10 + nation,
     100 + dice(k, c, 900), 100 + dice(k, c + 1, 900), 1000 + dice(k, c + 2, 9000))`,
  // The price of a part, in cents.
  'CREATE MACRO cents(part) AS 90000 + (part // 10) % 20001 + 100 * (part % 1000)',
  // The supplier of a part: the same four for ever.
  `CREATE MACRO supplier_of(part, which, suppliers) AS
     (part + which * (suppliers // 4 + (part - 1) // suppliers)) % suppliers + 1`,
];

export function region(): string {
  return `SELECT (i - 1)::INTEGER AS r_regionkey, ${list(words.REGIONS)}[i] AS r_name,
      comment(i, 0, 31, 115) AS r_comment
    FROM range(1, ${words.REGIONS.length + 1}) t(i)`;
}

export function nation(): string {
  const names = list(words.NATIONS.map(([name]) => name));
  const regions = `[${words.NATIONS.map(([, home]) => home).join(', ')}]`;
  return `SELECT (i - 1)::INTEGER AS n_nationkey, ${names}[i] AS n_name,
      ${regions}[i]::INTEGER AS n_regionkey, comment(i + 100, 0, 31, 114) AS n_comment
    FROM range(1, ${words.NATIONS.length + 1}) t(i)`;
}

/** One supplier in two thousand is complained about and one is recommended: 13 and 57 are there at any scale. */
export function supplier(from: number, to: number): string {
  return `SELECT k AS s_suppkey, printf('Supplier#%09d', k) AS s_name, address(k, 20) AS s_address,
      dice(k, 2, 25)::INTEGER AS s_nationkey, phone(dice(k, 2, 25), k, 3) AS s_phone,
      money(k, 6, -99999, 1100000) AS s_acctbal,
      CASE k % 2000
        WHEN 13 THEN comment(k, 7, 10, 40) || 'Customer ' || letters(k, 11) || 'Complaints'
        WHEN 57 THEN comment(k, 7, 10, 40) || 'Customer ' || letters(k, 11) || 'Recommends'
        ELSE comment(k, 7, 25, 100) END AS s_comment
    FROM range(${from}, ${to}) t(k)`;
}

export function part(from: number, to: number): string {
  const [first = [], second = [], third = []] = words.TYPES;
  const [sizes = [], kinds = []] = words.CONTAINERS;
  // Steps of at most 22 among 92 words: five of them never meet.
  const colour = (at: number): string =>
    `${list(words.COLOURS)}[1 + (dice(k, 0, ${words.COLOURS.length}) + ${at} * (1 + dice(k, 1, 22))) % ${words.COLOURS.length}]`;
  const name = [0, 1, 2, 3, 4].map(colour).join(" || ' ' || ");
  return `SELECT k AS p_partkey, ${name} AS p_name,
      'Manufacturer#' || (1 + dice(k, 2, 5)) AS p_mfgr,
      'Brand#' || (1 + dice(k, 2, 5)) || (1 + dice(k, 3, 5)) AS p_brand,
      pick(${list(first)}, k, 4) || ' ' || pick(${list(second)}, k, 5) || ' ' || pick(${list(third)}, k, 6)
        AS p_type,
      (1 + dice(k, 7, 50))::INTEGER AS p_size,
      pick(${list(sizes)}, k, 8) || ' ' || pick(${list(kinds)}, k, 9) AS p_container,
      (cents(k) / 100)::DECIMAL(15, 2) AS p_retailprice,
      comment(k, 10, 5, 22) AS p_comment
    FROM range(${from}, ${to}) t(k)`;
}

/** The four suppliers of the parts from `from` to before `to`. */
export function partsupp(from: number, to: number, suppliers: number): string {
  return `SELECT part AS ps_partkey, supplier_of(part, which, ${suppliers}) AS ps_suppkey,
      1 + dice(k, 0, 9999) AS ps_availqty, money(k, 1, 100, 99901) AS ps_supplycost,
      comment(k, 2, 49, 198) AS ps_comment
    FROM (SELECT i // 4 AS part, i % 4 AS which, i + 1000000000 AS k
      FROM range(${from * 4}, ${to * 4}) t(i))`;
}

export function customer(from: number, to: number): string {
  return `SELECT k AS c_custkey, printf('Customer#%09d', k) AS c_name, address(k, 24) AS c_address,
      dice(k, 12, 25)::INTEGER AS c_nationkey, phone(dice(k, 12, 25), k, 13) AS c_phone,
      money(k, 16, -99999, 1100000) AS c_acctbal, pick(${list(words.SEGMENTS)}, k, 17) AS c_mktsegment,
      comment(k, 18, 29, 116) AS c_comment
    FROM range(${from}, ${to}) t(k)`;
}

/** What an order and its lines have in common. Of 32 order keys 8 are used; two customers in three order. */
function orderBase(from: number, to: number, sizes: Sizes): string {
  const large = sizes.orders < 1_000_000 ? 'i % 15000 = 7' : 'false';
  return `SELECT i + 2000000000 AS k, (i // 8) * 32 + i % 8 + 1 AS orderkey,
      least(dice(i + 2000000000, 0, ${Math.max(1, Math.floor(sizes.customer / 3))}) * 3
        + 1 + dice(i + 2000000000, 1, 2), ${sizes.customer}) AS custkey,
      DATE '1992-01-01' + dice(i + 2000000000, 2, 2406)::INTEGER AS orderdate,
      -- Orders above 300 pieces are so rare that a small scale has none by chance: there, one in 15,000 is one.
      ${large} AS large,
      CASE WHEN ${large} THEN 7 ELSE 1 + dice(i + 2000000000, 3, 7) END AS lines
    FROM range(${from}, ${to}) t(i)`;
}

/** The lines of the orders from `from` to before `to`, in the order of their keys. */
export function lineitem(from: number, to: number, sizes: Sizes): string {
  const flags = "pick(['R', 'A'], k, 12)";
  return `SELECT l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity::DECIMAL(15, 2) AS l_quantity,
      (l_quantity * cents(l_partkey) / 100)::DECIMAL(15, 2) AS l_extendedprice, l_discount, l_tax,
      CASE WHEN l_receiptdate <= DATE '1995-06-17' THEN ${flags} ELSE 'N' END AS l_returnflag,
      CASE WHEN l_shipdate > DATE '1995-06-17' THEN 'O' ELSE 'F' END AS l_linestatus,
      l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment
    FROM (SELECT *, supplier_of(l_partkey, dice(k, 2, 4), ${sizes.supplier}) AS l_suppkey,
        l_shipdate + (1 + dice(k, 8, 30))::INTEGER AS l_receiptdate
      FROM (SELECT k, orderkey AS l_orderkey, line AS l_linenumber,
          1 + dice(k, 1, ${sizes.part}) AS l_partkey,
          CASE WHEN large THEN 44 + dice(k, 3, 7) ELSE 1 + dice(k, 3, 50) END AS l_quantity,
          (dice(k, 4, 11) / 100)::DECIMAL(15, 2) AS l_discount,
          (dice(k, 5, 9) / 100)::DECIMAL(15, 2) AS l_tax,
          orderdate + (1 + dice(k, 6, 121))::INTEGER AS l_shipdate,
          orderdate + (30 + dice(k, 7, 61))::INTEGER AS l_commitdate,
          pick(${list(words.INSTRUCTIONS)}, k, 14) AS l_shipinstruct,
          pick(${list(words.MODES)}, k, 10) AS l_shipmode,
          comment(k, 15, 10, 43) AS l_comment
        FROM (SELECT orderkey, orderdate, large, line, k * 8 + line AS k
          FROM (SELECT *, unnest(range(1, lines + 1)) AS line
            FROM (${orderBase(from, to, sizes)})))))`;
}

/** The orders whose lines are in these files: status and price come from them. */
export function orders(from: number, to: number, sizes: Sizes, lineFile: string): string {
  const clerks = Math.max(1, Math.round(sizes.orders / 1500));
  return `SELECT orderkey AS o_orderkey, custkey AS o_custkey, status AS o_orderstatus,
      price::DECIMAL(15, 2) AS o_totalprice, orderdate AS o_orderdate,
      pick(${list(words.PRIORITIES)}, k, 4) AS o_orderpriority,
      printf('Clerk#%09d', 1 + dice(k, 5, ${clerks})) AS o_clerk, 0::INTEGER AS o_shippriority,
      comment(k, 6, 19, 78) AS o_comment
    FROM (${orderBase(from, to, sizes)}) JOIN (
      SELECT l_orderkey,
        CASE WHEN min(l_linestatus) = max(l_linestatus) THEN min(l_linestatus) ELSE 'P' END AS status,
        sum(l_extendedprice * (1 + l_tax) * (1 - l_discount)) AS price
      FROM read_parquet(${text(lineFile)}) GROUP BY l_orderkey) ON l_orderkey = orderkey
    ORDER BY orderkey`;
}
