import { expect, test } from 'vitest';
import { cronWords } from './cron-words.ts';

test.each([
  ['* * * * *', 'every minute'],
  ['*/5 * * * *', 'every 5 minutes'],
  ['*/15 9-17 * * 1-5', 'every 15 minutes from 09:00 to 17:59, weekdays'],
  ['30 * * * *', 'every hour at :30'],
  ['0 */6 * * *', 'every 6 hours at :00'],
  ['0,30 8-18 * * *', 'every hour at :00 and :30 from 08:00 to 18:59'],
  ['0 2 * * *', 'every day at 02:00'],
  ['0 2,14 * * *', 'every day at 02:00 and 14:00'],
  ['0 2 * * 1-5', 'weekdays at 02:00'],
  ['0 10 * * 0,6', 'weekends at 10:00'],
  ['15 7 * * 1,3,5', 'every Monday, Wednesday and Friday at 07:15'],
  ['0 0 * * 2-4', 'Tuesday to Thursday at 00:00'],
  ['0 0 * * 7', 'every Sunday at 00:00'],
  ['0 6 1 * *', 'day 1 of every month at 06:00'],
  ['0 6 1,15 * *', 'day 1 and 15 of every month at 06:00'],
  ['0 6 1 1 *', 'day 1 of January at 06:00'],
  ['0 6 * 12 1-5', 'weekdays in December at 06:00'],
])('%s is %s', (cron, words) => {
  expect(cronWords(cron)).toBe(words);
});

test.each([
  '',
  '0 2 * *',
  '0 2 * * MON',
  '0 25 * * *',
  '61 2 * * *',
  '0 2 L * *',
  '0 2 1 * 1',
  '1--100000000 * * * *',
  '0 0,1,2,3,4,5 * * *',
])('%s is shown as it is', (cron) => {
  expect(cronWords(cron)).toBeNull();
});
