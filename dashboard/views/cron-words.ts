/** A cron expression in words. Null for what is not understood: then the expression itself is shown. */
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
/** More times than these are not a sentence any more. */
const LISTED_MAX = 4;

export function cronWords(cron: string): string | null {
  const parts = cron.trim().split(/\s+/);
  if (parts.length !== 5) return null;
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = parts;
  const time = timeWords(minute, hour);
  const days = dayWords(day, month, weekday);
  if (time === null || days === null) return null;
  // "every 5 minutes" is every day; "at 02:00" is not, unless it is said.
  if (days === '') return time.isOften ? time.words : `every day ${time.words}`;
  return time.isOften ? `${time.words}, ${days}` : `${days} ${time.words}`;
}

interface Words {
  readonly words: string;
  /** Several times a day, at equal distances. */
  readonly isOften: boolean;
}

function timeWords(minute: string, hour: string): Words | null {
  const [step, hourStep] = [stepOf(minute), stepOf(hour)];
  const range = rangeOf(hour, 23);
  if (minute === '*' || step !== null) {
    const often = step === null || step === 1 ? 'every minute' : `every ${step} minutes`;
    if (hour === '*') return { words: often, isOften: true };
    const within = range === null ? null : `from ${clock(range[0], 0)} to ${clock(range[1], 59)}`;
    return within === null ? null : { words: `${often} ${within}`, isOften: true };
  }
  const minutes = listOf(minute, 59);
  if (minutes === null) return null;
  const past = listed(minutes.map((each) => `:${two(each)}`));
  if (hour === '*' || hourStep !== null) {
    const often = hourStep === null || hourStep === 1 ? 'every hour' : `every ${hourStep} hours`;
    return { words: `${often} at ${past}`, isOften: true };
  }
  if (range !== null && hour.includes('-'))
    return {
      words: `every hour at ${past} from ${clock(range[0], 0)} to ${clock(range[1], 59)}`,
      isOften: true,
    };
  const hours = listOf(hour, 23);
  if (hours === null || hours.length * minutes.length > LISTED_MAX) return null;
  const times = hours.flatMap((h) => minutes.map((m) => clock(h, m)));
  return { words: `at ${listed(times)}`, isOften: false };
}

/** Empty for every day; null for what is not understood. */
function dayWords(day: string, month: string, weekday: string): string | null {
  const months = month === '*' ? [] : listOf(month, 12);
  if (months === null || (day !== '*' && weekday !== '*')) return null;
  const season = months.length === 0 ? '' : ` in ${listed(months.map((m) => MONTHS[m - 1] ?? ''))}`;
  if (weekday !== '*') {
    const words = weekdayWords(weekday);
    return words === null ? null : `${words}${season}`;
  }
  if (day === '*') return season === '' ? '' : `every day${season}`;
  const days = listOf(day, 31);
  if (days === null || days.length > LISTED_MAX) return null;
  return `day ${listed(days.map(String))} of ${season === '' ? 'every month' : season.slice(4)}`;
}

function weekdayWords(weekday: string): string | null {
  if (weekday === '1-5') return 'weekdays';
  if (weekday === '0,6' || weekday === '6,0' || weekday === '6,7') return 'weekends';
  const range = weekday.includes('-') ? rangeOf(weekday, 7) : null;
  if (range !== null) return `${dayName(range[0])} to ${dayName(range[1])}`;
  const days = listOf(weekday, 7);
  return days === null ? null : `every ${listed(days.map(dayName))}`;
}

const dayName = (day: number): string => DAYS[day % 7] ?? '';
const two = (value: number): string => String(value).padStart(2, '0');
const clock = (hour: number, minute: number): string => `${two(hour)}:${two(minute)}`;

function stepOf(text: string): number | null {
  const [, step] = /^\*\/(\d{1,2})$/.exec(text) ?? [];
  return step === undefined ? null : Number(step);
}

function rangeOf(text: string, max: number): readonly [number, number] | null {
  const [, from, to = from] = /^(\d{1,2})(?:-(\d{1,2}))?$/.exec(text) ?? [];
  if (from === undefined || Number(from) > Number(to) || Number(to) > max) return null;
  return [Number(from), Number(to)];
}

function listOf(text: string, max: number): readonly number[] | null {
  if (!/^\d{1,2}(,\d{1,2})*$/.test(text)) return null;
  const values = text.split(',').map(Number);
  return values.some((each) => each > max) ? null : values;
}

const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1) ?? ''}`;
