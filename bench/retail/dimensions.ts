/** The dimensions of a retailer as SELECTs: every value is a function of its row's key and nothing else. */
import * as words from './words.ts';

export interface Sizes {
  readonly items: number;
  readonly customers: number;
  readonly addresses: number;
  readonly stores: number;
  readonly promotions: number;
  readonly catalogPages: number;
  /** Receipts of stores, orders by catalogue and on the web; each has several lines. */
  readonly tickets: number;
  readonly catalogOrders: number;
  readonly webOrders: number;
}

/** Lines of one ticket are of different items: each is one of a group of so many. */
export const ITEM_GROUP = 16;

/** How many rows at this scale. Dimensions shrink more slowly than facts, so that a small scale has all kinds of rows. */
export function sizesAt(scale: number): Sizes {
  const slow = Math.sqrt(scale);
  const at = (rows: number, by: number): number => Math.max(4, Math.round(rows * by));
  return {
    items: ITEM_GROUP * at(1_125, slow),
    customers: at(100_000, scale),
    addresses: at(50_000, scale < 1 ? slow ** 1.5 : scale),
    stores: Math.max(8, Math.round(24 * slow)),
    promotions: at(300, slow),
    catalogPages: at(6_000, slow),
    tickets: at(325_000, scale),
    catalogOrders: at(186_000, scale),
    webOrders: at(108_000, scale),
  };
}

const text = (value: string): string => `'${value.replaceAll("'", "''")}'`;
const list = (values: readonly string[]): string => `[${values.map(text).join(', ')}]`;

/**
 * `dice(k, c, n)` is a number below n for column c of the row with key k. DuckDB's `hash` of several arguments combines
 * them by XOR, which would tie the columns to each other; so key and column become one number first.
 */
export const DIMENSION_MACROS: readonly string[] = [
  'CREATE MACRO dice(k, c, n) AS (hash(k * 64 + c) % n::UBIGINT)::BIGINT',
  'CREATE MACRO pick(words, k, c) AS words[1 + dice(k, c, len(words))]',
  // Below n, and the smaller the more often.
  'CREATE MACRO popular(k, c, n, bend) AS floor(n * pow(dice(k, c, 1000000) / 1000000, bend))::BIGINT',
  // NULL once in `one` times.
  'CREATE MACRO maybe(value, k, c, one) AS CASE WHEN dice(k, c, one) > 0 THEN value END',
  "CREATE MACRO yes(k, c, one) AS CASE WHEN dice(k, c, one) = 0 THEN 'Y' ELSE 'N' END",
  "CREATE MACRO id_of(k) AS 'ID' || upper(to_base((hash(k * 64 + 63) >> 1)::BIGINT, 36, 13))",
  "CREATE MACRO day_key(day) AS (day - DATE '1900-01-01')::INTEGER",
  `CREATE MACRO town(n) AS ${list(words.TOWNS)}[1 + n]`,
  `CREATE MACRO county(n) AS ${list(words.COUNTIES)}[1 + n // ${words.TOWNS.length / words.COUNTIES.length}]`,
  `CREATE MACRO state(n) AS ${list(words.STATES)}[1 + n // ${words.TOWNS.length / words.STATES.length}]`,
  "CREATE MACRO zip(n, k, c) AS printf('%05d', 10000 + n * 1700 + dice(k, c, 40) * 7)",
];

const DAYS = `SELECT DATE '2015-01-01' + i::INTEGER AS d FROM range(5114) t(i)`;

const dates = `SELECT day_key(d) AS d_key, d AS d_date, year(d)::INTEGER AS d_year, quarter(d)::INTEGER AS d_quarter,
    month(d)::INTEGER AS d_month, day(d)::INTEGER AS d_day, dayofweek(d)::INTEGER AS d_weekday, dayname(d) AS d_name,
    ((d - DATE '2015-01-05' + 7) // 7)::INTEGER AS d_week,
    ((year(d) - 2015) * 12 + month(d) - 1)::INTEGER AS d_month_number,
    ((year(d) - 2015) * 4 + quarter(d) - 1)::INTEGER AS d_quarter_number,
    CASE WHEN (month(d), day(d)) IN ((1, 1), (7, 4), (11, 11), (12, 25), (12, 26)) THEN 'Y' ELSE 'N' END AS d_holiday,
    CASE WHEN dayofweek(d) IN (0, 6) THEN 'Y' ELSE 'N' END AS d_weekend
  FROM (${DAYS})`;

/** A row a minute. */
const times = `SELECT i::INTEGER AS t_key, (i // 60)::INTEGER AS t_hour, (i % 60)::INTEGER AS t_minute,
    CASE WHEN i < 720 THEN 'AM' ELSE 'PM' END AS t_half,
    CASE WHEN i < 480 THEN 'third' WHEN i < 960 THEN 'first' ELSE 'second' END AS t_shift,
    CASE WHEN i BETWEEN 360 AND 540 THEN 'breakfast' WHEN i BETWEEN 690 AND 840 THEN 'lunch'
      WHEN i BETWEEN 1050 AND 1230 THEN 'dinner' END AS t_meal
  FROM range(1440) t(i)`;

/** Two keys in three are the only ones of their id; the others are versions of one article. */
function items({ items: count }: Sizes): string {
  const classes = words.CATEGORIES.map(([, names]) => list(names)).join(', ');
  const names = list(words.CATEGORIES.map(([name]) => name));
  return `SELECT k::INTEGER AS i_key, id_of(CASE WHEN k % 6 = 5 THEN k - 1 ELSE k END) AS i_id,
      maybe(i_class || ' ' || pick(${list(words.ADJECTIVES)}, k, 4) || ' ' || k % 997, k, 5, 60) AS i_name,
      pick(${list(words.ADJECTIVES)}, k, 6) || ' and ' || pick(${list(words.ADJECTIVES)}, k, 7) || ' '
        || i_class || ' in ' || i_colour AS i_description,
      i_category, i_class, i_category || ' brand ' || (1 + dice(k, 3, 9)) AS i_brand,
      (category * 10 + 1 + dice(k, 3, 9))::INTEGER AS i_brand_number,
      (1 + dice(k, 8, 100))::INTEGER AS i_manufacturer, (1 + dice(k, 9, 40))::INTEGER AS i_manager,
      pick(${list(words.SIZES)}, k, 10) AS i_size, i_colour, pick(${list(words.UNITS)}, k, 11) AS i_unit,
      (cents * (130 + dice(k, 13, 120)) / 10000)::DECIMAL(9, 2) AS i_price, (cents / 100)::DECIMAL(9, 2) AS i_cost
    FROM (SELECT k, category, maybe(${names}[1 + category], k, 14, 80) AS i_category,
        pick([${classes}][1 + category], k, 2) AS i_class, pick(${list(words.COLOURS)}, k, 1) AS i_colour, item_cents(k) AS cents
      FROM (SELECT i + 1 AS k, popular(i + 1, 0, ${words.CATEGORIES.length}, 1.2) AS category
        FROM range(${count}) t(i)))`;
}

function addresses({ addresses: count }: Sizes): string {
  return `SELECT k::INTEGER AS a_key, (1 + dice(k, 51, 999)) || ' ' || pick(${list(words.LAST_NAMES)}, k, 52) || ' '
        || pick(${list(words.STREETS)}, k, 53) AS a_street,
      maybe(town(n), k, 54, 90) AS a_town, county(n) AS a_county, maybe(state(n), k, 55, 90) AS a_state,
      maybe(zip(n, k, 56), k, 57, 90) AS a_zip, 'United States' AS a_country,
      (-5 - n // 16)::DECIMAL(4, 2) AS a_offset, pick(['house', 'flat', 'single family'], k, 58) AS a_kind
    FROM (SELECT i + 1 AS k, popular(i + 1, 50, ${words.TOWNS.length}, 1.4) AS n FROM range(${count}) t(i))`;
}

/** Every combination once: 2 x 5 x 7 x 7 x 20 x 4. */
export const DEMOGRAPHICS = 39_200;
const demographics = `SELECT (i + 1)::INTEGER AS cd_key, ['F', 'M'][1 + i % 2] AS cd_gender,
    ['S', 'M', 'D', 'W', 'U'][1 + i // 2 % 5] AS cd_marital,
    ${list(words.EDUCATION)}[1 + i // 10 % 7] AS cd_education, (i // 70 % 7)::INTEGER AS cd_dependents,
    (500 * (1 + i // 490 % 20))::INTEGER AS cd_estimate, ${list(words.CREDIT)}[1 + i // 9800] AS cd_credit
  FROM range(${DEMOGRAPHICS}) t(i)`;

/** Every combination once: 20 x 6 x 10 x 6. */
export const HOUSEHOLDS = 7_200;
const households = `SELECT (i + 1)::INTEGER AS hd_key, (1 + i % 20)::INTEGER AS hd_income,
    ${list(words.POTENTIAL)}[1 + i // 20 % 6] AS hd_potential, (i // 120 % 10)::INTEGER AS hd_dependents,
    (i // 1200 - 1)::INTEGER AS hd_vehicles
  FROM range(${HOUSEHOLDS}) t(i)`;

const incomeBands = `SELECT (i + 1)::INTEGER AS ib_key, (i * 10000)::INTEGER AS ib_low, (i * 10000 + 9999)::INTEGER AS ib_high
  FROM range(20) t(i)`;

function customers({ customers: count, addresses: places }: Sizes): string {
  return `SELECT k::INTEGER AS c_key, id_of(k + 5000000) AS c_id,
      maybe(pick(${list(words.FIRST_NAMES)}, k, 31), k, 32, 40) AS c_first,
      maybe(pick(${list(words.LAST_NAMES)}, k, 33), k, 34, 40) AS c_last,
      pick(['Mr', 'Ms', 'Dr', 'Sir'], k, 35) AS c_title, yes(k, 36, 2) AS c_preferred,
      maybe(1930 + dice(k, 37, 75), k, 38, 40)::INTEGER AS c_birth_year, (1 + dice(k, 39, 12))::INTEGER AS c_birth_month,
      (1 + dice(k, 40, 28))::INTEGER AS c_birth_day, pick(${list(words.COUNTRIES)}, k, 41) AS c_birth_country,
      lower('c' || k || '@' || pick(${list(words.STREETS)}, k, 42) || '.example') AS c_email,
      maybe(demographics_of(k), k, 43, 40) AS c_demographics, maybe(household_of(k), k, 44, 40) AS c_household,
      address_of(k, ${places}) AS c_address, (day_key(DATE '2019-01-01') + dice(k, 45, 1200))::INTEGER AS c_first_sale
    FROM (SELECT i + 1 AS k FROM range(${count}) t(i))`;
}

function stores({ stores: count }: Sizes): string {
  return `SELECT k::INTEGER AS s_key, id_of(k + 9000000) AS s_id, 'Store ' || town(n) AS s_name,
      (200 + dice(k, 1, 100))::INTEGER AS s_employees, (5000 + dice(k, 2, 5000))::INTEGER AS s_space,
      pick(${list(words.LAST_NAMES)}, k, 3) AS s_manager, (1 + dice(k, 4, 10))::INTEGER AS s_market,
      pick(['8AM-8PM', '8AM-4PM', '24 hours'], k, 5) AS s_hours, town(n) AS s_town, county(n) AS s_county,
      state(n) AS s_state, zip(n, k, 56) AS s_zip, (-5 - n // 16)::DECIMAL(4, 2) AS s_offset,
      (dice(k, 6, 12) / 100)::DECIMAL(4, 2) AS s_tax,
      CASE WHEN k % 7 = 3 THEN (day_key(DATE '2021-01-01') + dice(k, 7, 900))::INTEGER END AS s_closed
    FROM (SELECT i + 1 AS k, i * 5 % ${words.TOWNS.length} AS n FROM range(${count}) t(i))`;
}

/** So many that every key of a fact leads somewhere. */
export const FIXED = {
  webSites: 30,
  webPages: 60,
  callCentres: 6,
  warehouses: 4,
  shipModes: words.CARRIERS.length * words.SHIPPING.length,
  reasons: words.REASONS.length,
} as const;

const small: Readonly<Record<string, string>> = {
  web_sites: `SELECT (i + 1)::INTEGER AS site_key, 'site ' || i % 15 AS site_name,
      pick(${list(words.LAST_NAMES)}, i + 700, 1) AS site_manager, 'company ' || i % 5 AS site_company
    FROM range(${FIXED.webSites}) t(i)`,
  web_pages: `SELECT (i + 1)::INTEGER AS page_key, pick(['order', 'review', 'feedback', 'welcome', 'general'], i, 1) AS page_kind,
      (1000 + dice(i, 2, 7000))::INTEGER AS page_characters, yes(i, 3, 3) AS page_generated
    FROM range(${FIXED.webPages}) t(i)`,
  call_centres: `SELECT (i + 1)::INTEGER AS cc_key, 'Centre ' || town(i * 7) AS cc_name, county(i * 7) AS cc_county,
      pick(${list(words.LAST_NAMES)}, i + 900, 1) AS cc_manager, ['small', 'medium', 'large'][1 + i % 3] AS cc_class
    FROM range(${FIXED.callCentres}) t(i)`,
  warehouses: `SELECT (i + 1)::INTEGER AS w_key, 'Warehouse ' || town(i * 11) AS w_name,
      (50000 + dice(i, 1, 900000))::INTEGER AS w_space, town(i * 11) AS w_town, state(i * 11) AS w_state
    FROM range(${FIXED.warehouses}) t(i)`,
  ship_modes: `SELECT (i + 1)::INTEGER AS sm_key, ${list(words.SHIPPING)}[1 + i % ${words.SHIPPING.length}] AS sm_kind,
      ${list(words.CARRIERS)}[1 + i // ${words.SHIPPING.length}] AS sm_carrier
    FROM range(${FIXED.shipModes}) t(i)`,
  reasons: `SELECT (i + 1)::INTEGER AS r_key, ${list(words.REASONS)}[1 + i] AS r_text
    FROM range(${FIXED.reasons}) t(i)`,
};

function promotions({ promotions: count, items: goods }: Sizes): string {
  return `SELECT (i + 1)::INTEGER AS p_key, 'promotion ' || i AS p_name, (1 + dice(i, 1, ${goods}))::INTEGER AS p_item,
      (day_key(DATE '2019-01-01') + dice(i, 2, 1700))::INTEGER AS p_start,
      (day_key(DATE '2019-01-01') + dice(i, 2, 1700) + 7 + dice(i, 3, 60))::INTEGER AS p_end,
      (dice(i, 4, 100000) / 100)::DECIMAL(9, 2) AS p_cost, yes(i, 5, 2) AS p_mail, yes(i, 6, 2) AS p_email,
      yes(i, 7, 4) AS p_tv, yes(i, 8, 3) AS p_event
    FROM range(${count}) t(i)`;
}

function catalogPages({ catalogPages: count }: Sizes): string {
  return `SELECT (i + 1)::INTEGER AS cp_key, id_of(i + 7000000) AS cp_id, (1 + i // 100)::INTEGER AS cp_catalogue,
      (1 + i % 100)::INTEGER AS cp_page, ['monthly', 'quarterly', 'twice a year'][1 + i // 100 % 3] AS cp_kind
    FROM range(${count}) t(i)`;
}

export function dimensions(sizes: Sizes): Readonly<Record<string, string>> {
  return {
    ...{ dates, times, demographics, households, income_bands: incomeBands, ...small },
    ...{ items: items(sizes), customers: customers(sizes), addresses: addresses(sizes) },
    ...{ stores: stores(sizes), promotions: promotions(sizes), catalog_pages: catalogPages(sizes) },
  };
}
