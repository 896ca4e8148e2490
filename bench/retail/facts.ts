/**
 * The sales of three channels, what was returned of them, and the stock: SELECTs over the days of five years. Rows come in
 * the order of days, as a shop would store them. December has three times the sales of February, popular articles and
 * customers have most of the rows, and a part of all keys is NULL.
 */
import { DEMOGRAPHICS, FIXED, HOUSEHOLDS, ITEM_GROUP } from './dimensions.ts';
import type { Sizes } from './dimensions.ts';

const FIRST_DAY = "DATE '2019-01-01'";
const DAYS = 1826;

export const FACT_MACROS: readonly string[] = [
  // What belongs to a customer, also when it buys.
  `CREATE MACRO demographics_of(k) AS (1 + dice(k, 46, ${DEMOGRAPHICS}))::INTEGER`,
  `CREATE MACRO household_of(k) AS (1 + dice(k, 47, ${HOUSEHOLDS}))::INTEGER`,
  'CREATE MACRO address_of(k, places) AS (1 + dice(k, 48, places))::INTEGER',
  'CREATE MACRO item_cents(k) AS 100 + popular(k, 12, 9000, 1.6)',
  // Of the n-th ticket of a store: its customer and the article of a line.
  'CREATE MACRO ticket_customer(n, customers) AS 1 + popular(n + 1000000000, 2, customers, 1.6)',
  `CREATE MACRO ticket_item(n, line, goods) AS
     1 + popular((n + 1000000000) * 16 + line, 3, goods // ${ITEM_GROUP}, 1.5) * ${ITEM_GROUP} + line`,
];

/** The days with the numbers of the tickets that are sold on each. */
function calendar(tickets: number): string {
  const weights = '[8, 7, 9, 9, 10, 9, 9, 10, 10, 11, 16, 21]';
  return `SELECT day, (tickets * (upto - weight) // total)::BIGINT AS low, (tickets * upto // total)::BIGINT AS high
    FROM (SELECT *, sum(weight) OVER (ORDER BY day) AS upto, sum(weight) OVER () AS total, ${tickets} AS tickets
      FROM (SELECT ${FIRST_DAY} + i::INTEGER AS day,
          (${weights}[month(${FIRST_DAY} + i::INTEGER)] * (10 + i // 366)
            * CASE WHEN dayofweek(${FIRST_DAY} + i::INTEGER) IN (0, 6) THEN 13 ELSE 10 END)::HUGEINT AS weight
        FROM range(${DAYS}) t(i)))`;
}

interface Channel {
  readonly tickets: number;
  /** Apart from the keys of the other channels. */
  readonly offset: number;
  readonly lines: number;
  /** Expressions over `n`, `k` and the line. */
  readonly customer: string;
  readonly item: string;
}

/** A row a line of a ticket: day, n, k (of the ticket), line, lk (of the line), item, customer, cents and prices. */
function lines({ tickets, offset, lines: most, customer, item }: Channel): string {
  return `SELECT *, round(cost * (100 + dice(lk, 6, 200)) / 100)::BIGINT AS list_price
    FROM (SELECT *, round(item_cents(item) * (90 + dice(lk, 5, 21)) / 100)::BIGINT AS cost, 1 + popular(lk, 4, 100, 1.5) AS quantity
      FROM (SELECT *, ${item} AS item
        FROM (SELECT *, unnest(range(1 + dice(k, 0, ${most}))) AS line, k * 16 + line AS lk
          FROM (SELECT *, n + ${offset} AS k, ${customer} AS customer
            FROM (SELECT day, unnest(range(low, high)) AS n FROM (${calendar(tickets)}) ORDER BY day)))))`;
}

/** The columns of money, from unit prices in cents: \`p\` is the channel's prefix. */
function amounts(p: string): string {
  const money = (value: string, name: string): string =>
    `((${value}) / 100)::DECIMAL(11, 2) AS ${p}_${name}`;
  const price = 'round(list_price * (100 - popular(lk, 7, 101, 2)) / 100)';
  const paid = `(${price} * quantity - ${price} * quantity * coupon // 100)`;
  return [
    `quantity::INTEGER AS ${p}_quantity`,
    money('cost', 'cost'),
    money('list_price', 'list'),
    money(price, 'price'),
    money(`(list_price - ${price}) * quantity`, 'discount'),
    money(`${price} * quantity`, 'sales'),
    money(`cost * quantity`, 'cost_total'),
    money(`list_price * quantity`, 'list_total'),
    money(`${price} * quantity * coupon // 100`, 'coupon'),
    money(`round(${paid} * (dice(lk, 8, 10)) / 100)`, 'tax'),
    money(paid, 'paid'),
    money(`${paid} - cost * quantity`, 'profit'),
  ].join(', ');
}

const COUPON = 'CASE WHEN dice(lk, 9, 5) = 0 THEN dice(lk, 10, 60) ELSE 0 END AS coupon';
/** Shops are open from eight to nine, and busy before noon and at five. */
const MINUTE = '(480 + (dice(k, 11, 390) + dice(k, 12, 390)))::INTEGER';

export function storeSales({
  tickets,
  items,
  customers,
  addresses,
  stores,
  promotions,
}: Sizes): string {
  const channel: Channel = {
    ...{ tickets, offset: 1_000_000_000, lines: 15 },
    customer: `ticket_customer(n, ${customers})`,
    item: `ticket_item(n, line, ${items})`,
  };
  return `SELECT maybe(day_key(day), lk, 20, 40) AS ss_date, maybe(${MINUTE}, lk, 21, 40) AS ss_time, item::INTEGER AS ss_item,
      maybe(customer, k, 22, 40)::INTEGER AS ss_customer, maybe(demographics_of(customer), k, 23, 40) AS ss_demographics,
      maybe(household_of(customer), k, 24, 40) AS ss_household,
      maybe(CASE WHEN dice(k, 25, 10) < 7 THEN address_of(customer, ${addresses})
        ELSE 1 + dice(k, 26, ${addresses}) END, k, 27, 40)::INTEGER AS ss_address,
      maybe(1 + popular(k, 28, ${stores}, 1.3), k, 29, 40)::INTEGER AS ss_store,
      maybe(1 + dice(lk, 30, ${promotions}), lk, 31, 20)::INTEGER AS ss_promotion, n + 1 AS ss_ticket, ${amounts('ss')}
    FROM (SELECT *, ${COUPON} FROM (${lines(channel)}))`;
}

/** The columns that orders by catalogue and on the web have in common. */
function ordered(p: string, { addresses, promotions }: Sizes): string {
  const shipped = `(day_key(day) + 2 + popular(lk, 32, 118, 1.5))::INTEGER`;
  const other = 'CASE WHEN dice(k, 33, 8) = 0 THEN customer + 1 ELSE customer END';
  return `maybe(day_key(day), lk, 20, 60) AS ${p}_date, maybe((dice(k, 11, 720) + dice(k, 12, 720))::INTEGER, k, 21, 60) AS ${p}_time,
      maybe(${shipped}, lk, 34, 60) AS ${p}_ship_date, item::INTEGER AS ${p}_item,
      maybe(customer, k, 22, 60)::INTEGER AS ${p}_customer, maybe(demographics_of(customer), k, 23, 60) AS ${p}_demographics,
      maybe(household_of(customer), k, 24, 60) AS ${p}_household, maybe(address_of(customer, ${addresses}), k, 25, 60) AS ${p}_address,
      maybe(${other}, k, 35, 60)::INTEGER AS ${p}_ship_customer, maybe(address_of(${other}, ${addresses}), k, 36, 60) AS ${p}_ship_address,
      maybe(1 + dice(lk, 37, ${FIXED.shipModes}), lk, 38, 60)::INTEGER AS ${p}_ship_mode,
      maybe(1 + popular(lk, 39, ${FIXED.warehouses}, 1.3), lk, 40, 60)::INTEGER AS ${p}_warehouse,
      maybe(1 + dice(lk, 30, ${promotions}), lk, 31, 20)::INTEGER AS ${p}_promotion, n + 1 AS ${p}_order, ${amounts(p)},
      (quantity * dice(lk, 41, 900) / 100)::DECIMAL(11, 2) AS ${p}_ship_cost`;
}

/**
 * One order in six is of a customer who has bought the same articles in a store, about a month before. Both are in the order of
 * days, so the ticket stands at about the same place.
 */
function following(
  orders: number,
  offset: number,
  { tickets, customers, items }: Sizes,
): Pick<Channel, 'customer' | 'item'> {
  const before = `greatest(0, n * ${tickets} // ${orders} - ${Math.ceil(tickets / 50)})`;
  const isFollowing = `dice(n + ${offset}, 1, 6) = 0`;
  return {
    customer: `CASE WHEN ${isFollowing} THEN ticket_customer(${before}, ${customers})
      ELSE 1 + popular(n + ${offset}, 2, ${customers}, 1.3) END`,
    item: `CASE WHEN ${isFollowing} THEN ticket_item(${before}, line, ${items})
      ELSE 1 + popular((n + ${offset}) * 16 + line, 3, ${items} // ${ITEM_GROUP}, 1.7) * ${ITEM_GROUP} + line END`,
  };
}

export function catalogSales(sizes: Sizes): string {
  const [tickets, offset] = [sizes.catalogOrders, 2_000_000_000];
  const channel: Channel = { tickets, offset, lines: 13, ...following(tickets, offset, sizes) };
  return `SELECT ${ordered('cs', sizes)}, maybe(1 + popular(k, 42, ${FIXED.callCentres}, 1.2), k, 43, 60)::INTEGER AS cs_centre,
      maybe(1 + dice(lk, 44, ${sizes.catalogPages}), lk, 45, 60)::INTEGER AS cs_page
    FROM (SELECT *, ${COUPON} FROM (${lines(channel)}))`;
}

export function webSales(sizes: Sizes): string {
  const [tickets, offset] = [sizes.webOrders, 3_000_000_000];
  const channel: Channel = { tickets, offset, lines: 11, ...following(tickets, offset, sizes) };
  return `SELECT ${ordered('ws', sizes)}, maybe(1 + popular(k, 42, ${FIXED.webSites}, 1.2), k, 43, 60)::INTEGER AS ws_site,
      maybe(1 + dice(lk, 44, ${FIXED.webPages}), lk, 45, 60)::INTEGER AS ws_page
    FROM (SELECT *, ${COUPON} FROM (${lines(channel)}))`;
}

/** One line in ten came back; `s` and `r` are the prefixes of the channel's two tables, `number` the column of its tickets. */
function returned(file: string, s: string, r: string, number: string): string {
  const back = `(1 + popular(k, 1, ${s}_quantity, 0.7))`;
  return `SELECT maybe((${s}_date + 1 + popular(k, 2, 90, 1.5))::INTEGER, k, 3, 40) AS ${r}_date,
      ${s}_item AS ${r}_item, ${s}_${number} AS ${r}_${number},
      CASE WHEN dice(k, 4, 7) = 0 THEN ${s}_customer + 1 ELSE ${s}_customer END::INTEGER AS ${r}_customer,
      maybe(1 + popular(k, 5, ${FIXED.reasons}, 1.3), k, 6, 40)::INTEGER AS ${r}_reason,
      ${back}::INTEGER AS ${r}_quantity, (${s}_price * ${back})::DECIMAL(11, 2) AS ${r}_amount,
      (dice(k, 7, 5000) / 100)::DECIMAL(11, 2) AS ${r}_fee,
      (${s}_price * ${back} * dice(k, 8, 101) / 100)::DECIMAL(11, 2) AS ${r}_cash,
      ((${s}_list - ${s}_price) * ${back} / 4 + dice(k, 7, 5000) / 100)::DECIMAL(11, 2) AS ${r}_loss, sold.*
    FROM (SELECT * EXCLUDE (k), k + 4000000000000 AS k FROM (SELECT *, ${s}_${number} * 1000003 + ${s}_item AS k FROM read_parquet('${file}'))) sold
    WHERE dice(k, 0, 10) = 0`;
}

const pick = (select: string, columns: string): string => `SELECT ${columns} FROM (${select})`;

export const storeReturns = (file: string): string =>
  pick(
    returned(file, 'ss', 'sr', 'ticket'),
    `COLUMNS('^sr_'), ss_store AS sr_store, ss_demographics AS sr_demographics, ss_household AS sr_household, ss_address AS sr_address`,
  );

export const catalogReturns = (file: string): string =>
  pick(
    returned(file, 'cs', 'cr', 'order'),
    `COLUMNS('^cr_'), cs_centre AS cr_centre, cs_page AS cr_page, cs_address AS cr_address, cs_warehouse AS cr_warehouse,
      cs_ship_mode AS cr_ship_mode`,
  );

export const webReturns = (file: string): string =>
  pick(
    returned(file, 'ws', 'wr', 'order'),
    `COLUMNS('^wr_'), ws_page AS wr_page, ws_demographics AS wr_demographics, ws_address AS wr_address`,
  );

/** The stock of every fourth article, counted every second Monday in every warehouse. */
export function inventory({ items }: Sizes): string {
  const counts = Math.floor(DAYS / 14);
  return `SELECT (day_key(DATE '2019-01-07') + snapshot * 14)::INTEGER AS inv_date, item::INTEGER AS inv_item, warehouse::INTEGER AS inv_warehouse,
      maybe(popular(k, 1, 1000, 0.3 + dice(item, 3, 40) / 10), k, 2, 25)::INTEGER AS inv_stock
    FROM (SELECT snapshot, item, warehouse, 5000000000 + (snapshot * ${items} + item) * ${FIXED.warehouses} + warehouse AS k
      FROM range(${counts}) a(snapshot), (SELECT i * 4 + 1 AS item FROM range(${Math.floor(items / 4)}) t(i)) b,
        range(1, ${FIXED.warehouses + 1}) c(warehouse)
      ORDER BY snapshot, item, warehouse)`;
}
