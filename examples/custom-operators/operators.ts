/** Two operators and a function for SQL queries. A worker that loads this module has all three. */
import { defineFunction, defineOperator } from 'millrace';

/** One row for each word of a text column. Any worker can do it with any rows. */
export const tokenize = defineOperator({
  name: 'tokenize',
  input: { id: 'BIGINT' },
  output: { id: 'BIGINT', position: 'INTEGER', token: 'VARCHAR' },
  params: { column: 'column', lower: { type: 'boolean', default: true } },
  async *run(batches, { params }) {
    for await (const { rowCount, columns } of batches) {
      const texts = columns[params.column];
      const ids: unknown[] = [];
      const positions: number[] = [];
      const tokens: string[] = [];
      for (let row = 0; row < rowCount; row += 1) {
        const text = texts?.[row];
        if (typeof text !== 'string') continue;
        const words = (params.lower ? text.toLowerCase() : text).match(/[\p{L}\p{N}]+/gu) ?? [];
        for (const [position, word] of words.entries()) {
          ids.push(columns['id']?.[row]);
          positions.push(position);
          tokens.push(word);
        }
      }
      yield { columns: { id: ids, position: positions, token: tokens } };
    }
  },
});

/** A logistic model: the weights come from training, and would be read from a file. */
const MODEL = { intercept: -2, orders: -0.3, complaints: 1.1, days: 0.02 };

/** The probability that a customer leaves. Typed arrays in, a typed array out. */
export const scoreChurn = defineOperator({
  name: 'score_churn',
  input: { customer: 'VARCHAR', orders: 'DOUBLE', complaints: 'DOUBLE', days: 'DOUBLE' },
  output: { customer: 'VARCHAR', churn: 'DOUBLE' },
  async *run(batches, { signal }) {
    for await (const { rowCount, columns } of batches) {
      signal.throwIfAborted();
      const { customer = [], orders = [], complaints = [], days = [] } = columns;
      const churn = new Float64Array(rowCount);
      for (let row = 0; row < rowCount; row += 1) {
        const sum =
          MODEL.intercept +
          MODEL.orders * Number(orders[row]) +
          MODEL.complaints * Number(complaints[row]) +
          MODEL.days * Number(days[row]);
        churn[row] = 1 / (1 + Math.exp(-sum));
      }
      yield { columns: { customer, churn } };
    }
  },
});

const EARTH_KM = 6371;
const radians = (degrees: unknown): number => (Number(degrees) * Math.PI) / 180;

/** The distance of two places on the globe. Rows with a NULL among the arguments are NULL. */
export const geoKm = defineFunction({
  name: 'geo_km',
  input: { lat1: 'DOUBLE', lon1: 'DOUBLE', lat2: 'DOUBLE', lon2: 'DOUBLE' },
  output: 'DOUBLE',
  run({ rowCount, columns: { lat1 = [], lon1 = [], lat2 = [], lon2 = [] } }) {
    const km = new Float64Array(rowCount);
    for (let row = 0; row < rowCount; row += 1) {
      const [from, to] = [radians(lat1[row]), radians(lat2[row])];
      const north = Math.sin((to - from) / 2) ** 2;
      const east = Math.sin((radians(lon2[row]) - radians(lon1[row])) / 2) ** 2;
      km[row] = 2 * EARTH_KM * Math.asin(Math.sqrt(north + Math.cos(from) * Math.cos(to) * east));
    }
    return km;
  },
});
