/** The words that the tables are made of. */

/** A category and its classes. */
export const CATEGORIES: readonly (readonly [string, readonly string[]])[] = [
  ['Books', ['novels', 'travel', 'cooking', 'history', 'science', 'poetry']],
  ['Children', ['infants', 'toddlers', 'school', 'newborn']],
  ['Electronics', ['audio', 'cameras', 'phones', 'televisions', 'cables', 'games']],
  ['Garden', ['seeds', 'tools', 'furniture', 'lights']],
  ['Home', ['kitchen', 'bedding', 'lamps', 'rugs', 'curtains', 'storage']],
  ['Jewellery', ['rings', 'watches', 'earrings', 'pendants', 'bracelets']],
  ['Men', ['shirts', 'trousers', 'coats', 'accessories']],
  ['Music', ['classical', 'jazz', 'rock', 'folk']],
  ['Shoes', ['boots', 'sandals', 'trainers', 'slippers']],
  ['Sports', ['running', 'cycling', 'swimming', 'climbing', 'sailing', 'fishing']],
  ['Women', ['dresses', 'blouses', 'skirts', 'knitwear']],
];

export const COLOURS: readonly string[] = [
  ...['amber', 'azure', 'beige', 'black', 'blue', 'bronze', 'brown', 'coral', 'cream', 'crimson'],
  ...['cyan', 'green', 'grey', 'indigo', 'ivory', 'khaki', 'lilac', 'lime', 'magenta', 'maroon'],
  ...['mint', 'navy', 'ochre', 'olive', 'orange', 'pink', 'plum', 'purple', 'red', 'rose'],
  ...['rust', 'sand', 'scarlet', 'silver', 'tan', 'teal', 'turquoise', 'violet', 'white', 'yellow'],
];

export const SIZES: readonly string[] = ['tiny', 'small', 'medium', 'large', 'huge', 'any'];
export const UNITS: readonly string[] = ['each', 'pair', 'dozen', 'box', 'case', 'kilogram'];

/** Words of names and descriptions. */
export const ADJECTIVES: readonly string[] = [
  ...['bright', 'calm', 'clever', 'cosy', 'daring', 'fine', 'gentle', 'grand', 'light', 'modern'],
  ...['noble', 'plain', 'quiet', 'rare', 'simple', 'smart', 'soft', 'solid', 'swift', 'warm'],
];

export const FIRST_NAMES: readonly string[] = [
  ...['Ada', 'Ben', 'Carla', 'David', 'Emma', 'Farid', 'Grace', 'Hugo', 'Ines', 'Jonas', 'Kofi'],
  ...['Lena', 'Mara', 'Nils', 'Olga', 'Paul', 'Rosa', 'Sami', 'Tara', 'Uma', 'Viktor', 'Wanda'],
];

export const LAST_NAMES: readonly string[] = [
  ...['Adler', 'Baker', 'Costa', 'Diaz', 'Evans', 'Fischer', 'Garcia', 'Hansen', 'Ito', 'Jansen'],
  ...['Klein', 'Lopez', 'Meyer', 'Novak', 'Okafor', 'Peters', 'Quinn', 'Rossi', 'Silva', 'Tanaka'],
  ...['Ueda', 'Vogel', 'Weber', 'Young', 'Zeman'],
];

export const COUNTRIES: readonly string[] = [
  ...['Austria', 'Brazil', 'Canada', 'Denmark', 'Egypt', 'France', 'Ghana', 'Hungary', 'India'],
  ...['Japan', 'Kenya', 'Mexico', 'Norway', 'Peru', 'Spain', 'Turkey', 'United States', 'Vietnam'],
];

/** Towns; each lies in one county, and each county in one state. */
export const TOWNS: readonly string[] = [
  ...['Alder', 'Birch', 'Cedar', 'Dale', 'Elm', 'Fern', 'Glen', 'Heath', 'Iris', 'Juniper'],
  ...['Knoll', 'Laurel', 'Maple', 'North', 'Oak', 'Pine', 'Quarry', 'Ridge', 'Spring', 'Thorn'],
  ...['Upland', 'Valley', 'Willow', 'Yarrow'],
].flatMap((name) => [`${name} Bridge`, `${name} Hill`]);
export const COUNTIES: readonly string[] = [
  ...[
    'Ash',
    'Bear',
    'Clay',
    'Deer',
    'Eagle',
    'Fox',
    'Grant',
    'Hawk',
    'Iron',
    'Jay',
    'Lake',
    'Mill',
  ],
].map((name) => `${name} County`);
export const STATES: readonly string[] = ['TN', 'GA', 'OH', 'TX', 'CA', 'WA'];
export const STREETS: readonly string[] = ['Street', 'Avenue', 'Lane', 'Road', 'Court', 'Way'];

export const EDUCATION: readonly string[] = [
  ...['Primary', 'Secondary', 'College', 'Degree of 2 years', 'Degree of 4 years', 'Advanced'],
  'Unknown',
];
export const CREDIT: readonly string[] = ['Good', 'Low risk', 'High risk', 'Unknown'];
export const POTENTIAL: readonly string[] = [
  ...['0-500', '501-1000', '1001-5000', '5001-10000', '>10000', 'Unknown'],
];
export const REASONS: readonly string[] = [
  ...['too small', 'too large', 'broken', 'wrong item', 'late', 'not as shown', 'found it cheaper'],
  ...['gift not wanted', 'duplicate', 'parts missing', 'did not like it', 'no reason given'],
];
export const CARRIERS: readonly string[] = [
  'SWIFTPOST',
  'ROADWAY',
  'AIRLINE',
  'PARCELCO',
  'SEALINK',
];
export const SHIPPING: readonly string[] = ['overnight', 'express', 'two days', 'regular'];
